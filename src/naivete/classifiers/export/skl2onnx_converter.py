"""A parser, a shape function and a converter for skl2onnx, which converts whole scikit-learn pipelines."""

from __future__ import annotations

from typing import Any

from naivete.classifiers.export.onnx_model import onnx_model
from naivete.classifiers.export.sum_of_tables import sum_of_tables

__all__ = ["skl2onnx_converter", "skl2onnx_parser", "skl2onnx_shapes"]


def skl2onnx_parser(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    """Declare the outputs of a classifier: labels and probabilities.

    Parameters
    ----------
    scope : the names of skl2onnx.
    model : the classifier.
    inputs : its inputs.
    custom_parsers : not used.
    """
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    operator = scope.declare_local_operator(sklearn_operator_name_map[type(model)], model)
    operator.inputs.extend(inputs)
    operator.outputs.append(scope.declare_local_variable("label", StringTensorType()))
    operator.outputs.append(scope.declare_local_variable("probabilities", DoubleTensorType()))
    return operator.outputs


def skl2onnx_converter(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of a fitted classifier to a conversion by skl2onnx.

    Pass this function, `skl2onnx_shapes` and `skl2onnx_parser` to `skl2onnx.update_registered_converter` with a class of naivete.
    Labels are texts or whole numbers. Columns of single precision are converted to double precision.

    Parameters
    ----------
    scope, operator, container : the names, the classifier with its inputs and outputs, and the graph of skl2onnx.
    """
    import onnx

    graph = onnx.load_from_string(onnx_model(sum_of_tables(operator.raw_operator))).graph
    names = {value.name: scope.get_unique_variable_name("naivete") for value in graph.output}

    def renamed(name: str) -> Any:
        return names.setdefault(name, scope.get_unique_variable_name("naivete"))

    def add(kind: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any) -> None:
        container.add_node(kind, inputs, outputs, domain, name=scope.get_unique_operator_name(kind), **attributes)

    used = [x for x, column in enumerate(operator.raw_operator.schema_) if not column.left_out]
    for value, column in zip(graph.input, used, strict=True):
        _add_input(value, column, operator.inputs, renamed, add, container, onnx)
    for tensor in graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        content = [text.decode() for text in tensor.string_data] if tensor.string_data else array.ravel().tolist()
        container.add_initializer(renamed(tensor.name), tensor.data_type, array.shape, content)
    for node in graph.node:
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        texts = {name: [v.decode() for v in value] for name, value in attributes.items() if name == "keys_strings"}
        add(node.op_type, [*map(renamed, node.input)], [*map(renamed, node.output)], node.domain, **{**attributes, **texts})
    add("Identity", [names[graph.output[0].name]], [operator.outputs[0].full_name])
    add("Identity", [names[graph.output[1].name]], [operator.outputs[1].full_name])


def skl2onnx_shapes(operator: Any) -> None:
    """Set the types of the outputs of a classifier: labels, and probabilities of double precision.

    Parameters
    ----------
    operator : the classifier with its inputs and outputs.
    """
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    classes = operator.raw_operator.classes_
    operator.outputs[0].type = (Int64TensorType if classes.dtype.kind in "iu" else StringTensorType)([None])
    operator.outputs[1].type = DoubleTensorType([None, len(classes)])


def _add_input(value: Any, column: int, inputs: Any, renamed: Any, add: Any, container: Any, onnx: Any) -> None:
    """Add the nodes that select one column among the inputs, which may have several columns each."""
    for variable in inputs:
        width = variable.type.shape[1] if len(variable.type.shape) > 1 and variable.type.shape[1] else 1
        if column < width:
            index, selected = renamed(f"index of {value.name}"), renamed(f"column of {value.name}")
            container.add_initializer(index, onnx.TensorProto.INT64, [1], [column])
            add("Gather", [variable.full_name, index], [selected], axis=1)
            add("Cast", [selected], [renamed(value.name)], to=value.type.tensor_type.elem_type)
            return
        column -= width
