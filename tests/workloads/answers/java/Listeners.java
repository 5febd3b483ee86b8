// SPDX-License-Identifier: Apache-2.0
// A listener is added for each opened view, none is ever removed; what each saw of the model stays with it.

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

public class Listeners {
  static class Model {
    private final List<Consumer<String>> listeners = new ArrayList<>();

    void addListener(Consumer<String> listener) {
      listeners.add(listener);
    }
  }

  static class OrderView {
    final double[] rows = new double[120];
    String title;

    OrderView(Model model) {
      model.addListener(text -> title = text);
    }
  }

  static final int PER_SECOND = 6000;

  public static void main(String[] arguments) throws Exception {
    Model model = new Model();
    long start = System.nanoTime(), number = 0;
    while (true) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000; number++) {
        new OrderView(model);
      }
      Thread.sleep(20);
    }
  }
}
