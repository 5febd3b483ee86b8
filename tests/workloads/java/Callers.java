// SPDX-License-Identifier: Apache-2.0
// Callers FILE: comes to a place through calls of many kinds, over and over until the JVM has compiled them, writes there
// its thread's number and what Java itself says of its callers, a line each, then a line to its output, and stays there.

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Comparator;
import java.util.function.IntUnaryOperator;

public class Callers {
  static final int ROUNDS = 60_000;
  static String file;
  static long sum;

  interface Store {
    int take(int n);
  }

  static final class Shelf implements Store {
    final int[] kept = new int[64];

    public int take(int n) {
      kept[n & 63] = inlined(n);
      return kept[(n + 1) & 63];
    }
  }

  static int inlined(int n) {
    return n < 0 ? stop() : smaller(n) + 1;
  }

  static int smaller(int n) {
    return n ^ 3;
  }

  static int each(int[] values, IntUnaryOperator operator) {
    int total = 0;
    for (int value : values) {
      total += operator.applyAsInt(value);
    }
    return total;
  }

  static int deep(int depth, int n, Store store) {
    if (depth > 0) {
      return deep(depth - 1, n, store) + 1;
    }
    return each(new int[] {n}, value -> store.take(value));
  }

  static synchronized int locked(int n, Store store) {
    return deep(6, n, store);
  }

  static int sorted(int n, Store store) {
    Integer[] numbers = {2, 1};
    Arrays.sort(numbers, new Comparator<Integer>() {
      public int compare(Integer a, Integer b) {
        sum += locked(n, store);
        return a - b;
      }
    });
    return numbers[0];
  }

  static int stop() {
    try (PrintWriter out = new PrintWriter(file)) {
      out.println(Files.readSymbolicLink(Paths.get("/proc/thread-self")).getFileName());
      for (StackTraceElement frame : Thread.currentThread().getStackTrace()) {
        out.println(frame.getClassName() + "." + frame.getMethodName());
      }
      out.flush();
      System.out.println();
      Thread.sleep(Long.MAX_VALUE);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    return 0;
  }

  public static void main(String[] arguments) {
    file = arguments[0];
    Store store = new Shelf();
    for (int i = 0; i < ROUNDS; i++) {
      sum += sorted(i, store);
    }
    sorted(-1, store);
  }
}
