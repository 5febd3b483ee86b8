// SPDX-License-Identifier: Apache-2.0
// A catalogue that is loaded at the start, answers that are kept for a few seconds, and much that dies young. Nothing leaks:
// the heap was given nine tenths of the limit, which leaves too little for all that is no heap.

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

public class Catalogue {
  record Article(int number, String name, double[] prices) {}

  static final List<Article> ARTICLES = new ArrayList<>();
  static final ArrayDeque<byte[]> RECENT = new ArrayDeque<>();

  static byte[] answer(int number) {
    StringBuilder text = new StringBuilder();
    for (int n = 0; n < 60; n++) text.append(ARTICLES.get((number + n) % ARTICLES.size()).name()).append('\n');
    return text.toString().getBytes();
  }

  public static void main(String[] arguments) throws Exception {
    for (int number = 0; number < 300_000; number++) {
      ARTICLES.add(new Article(number, "article " + number, new double[12]));
      if (number % 400 == 0) Thread.sleep(20);
    }
    for (int number = 0; ; number++) {
      RECENT.add(answer(number));
      if (RECENT.size() > 30_000) RECENT.poll();
      if (number % 20 == 0) Thread.sleep(5);
    }
  }
}
