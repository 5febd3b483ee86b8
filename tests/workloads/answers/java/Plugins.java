// SPDX-License-Identifier: Apache-2.0
// Each deployment loads its classes by a loader of its own, and old deployments are never forgotten.

import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

public class Plugins {
  public static class Rules {
    static long evaluated;
    final long limit = 10;

    long evaluate(long amount) {
      evaluated++;
      return amount > limit ? amount - limit : amount * 2;
    }

    public String toString() {
      return "rules with limit " + limit + ", evaluated " + evaluated;
    }
  }

  static class PluginLoader extends ClassLoader {
    PluginLoader(byte[] code) throws Exception {
      defineClass("Plugins$Rules", code, 0, code.length).getDeclaredConstructor().newInstance().toString();
    }
  }

  static final List<PluginLoader> DEPLOYED = new ArrayList<>();
  static final int PER_SECOND = 120;

  static void deploy(byte[] code) throws Exception {
    DEPLOYED.add(new PluginLoader(code));
  }

  public static void main(String[] arguments) throws Exception {
    byte[] code;
    try (InputStream stream = Plugins.class.getResourceAsStream("Plugins$Rules.class")) {
      code = stream.readAllBytes();
    }
    long start = System.nanoTime();
    while (true) {
      while (DEPLOYED.size() < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000) {
        deploy(code);
      }
      Thread.sleep(20);
    }
  }
}
