import java.io.BufferedReader;
import java.io.FileReader;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.OptionHandler;
import weka.core.Utils;

/** One of Weka's classifiers, timed inside the virtual machine: CLASS "OPTIONS" TRAIN TEST REPEAT PATIENCE. Prints JSON. */
public class WekaJob {
    static Instances read(String file) throws Exception {
        try (BufferedReader in = new BufferedReader(new FileReader(file))) {
            Instances rows = new Instances(in);
            rows.setClassIndex(rows.numAttributes() - 1);
            return rows;
        }
    }

    public static void main(String[] args) throws Exception {
        Instances train = read(args[2]), test = read(args[3]);
        int repeat = Integer.parseInt(args[4]);
        double patience = Double.parseDouble(args[5]), fit = Double.MAX_VALUE, predict = Double.MAX_VALUE;
        double right = 0, loss = 0, first = 0;
        long began = System.nanoTime();
        Classifier model = null;
        for (int i = 0; i <= repeat && (i == 0 || System.nanoTime() - began < patience * 1e9); i++) {
            model = (Classifier) Class.forName(args[0]).getDeclaredConstructor().newInstance();
            ((OptionHandler) model).setOptions(Utils.splitOptions(args[1]));
            long start = System.nanoTime();
            model.buildClassifier(train);
            double took = (System.nanoTime() - start) / 1e9;
            if (i == 0) first = took;
            fit = i == 1 ? took : Math.min(fit, took);
        }
        began = System.nanoTime();
        for (int i = 0; i <= repeat && (i == 0 || System.nanoTime() - began < patience * 1e9); i++) {
            right = loss = 0;
            long start = System.nanoTime();
            for (int r = 0; r < test.numInstances(); r++) {
                double[] p = model.distributionForInstance(test.instance(r));
                int c = (int) test.instance(r).classValue();
                if (Utils.maxIndex(p) == c) right++;
                loss -= Math.log(Math.max(p[c], 1e-15));
            }
            double took = (System.nanoTime() - start) / 1e9;
            predict = i == 1 ? took : Math.min(predict, took);
        }
        int n = test.numInstances();
        System.out.println("{\"fit_s\": " + fit + ", \"first_fit_s\": " + first + ", \"predict_s\": " + predict + ", \"accuracy\": "
            + right / n + ", \"log_loss\": " + loss / n + "}");
    }
}
