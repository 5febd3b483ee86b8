// SPDX-License-Identifier: Apache-2.0
// A tariff's formula is compiled to a class for each request that asks for it. The classes belong to the loader of the
// application, which never goes away.

import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup.ClassOption;
import java.util.function.DoubleUnaryOperator;

public class Formulas {
  /** What a compiler of formulas would write. */
  public static class Formula implements DoubleUnaryOperator {
    double base = 4.5, step = 0.31;

    public double applyAsDouble(double amount) {
      return amount < 10 ? flat(amount) : amount < 100 ? stepped(amount) : capped(amount);
    }

    double flat(double amount) { return base + amount * 0.4; }

    double stepped(double amount) { return base + Math.floor(amount / 5) * step + Math.sqrt(amount); }

    double capped(double amount) { return Math.min(99, stepped(amount) * 1.5 + Math.log(amount)); }

    public String toString() { return "base " + base + ", step " + step; }
  }

  static final byte[] CODE = code();

  static byte[] code() {
    try (InputStream in = Formulas.class.getResourceAsStream("Formulas$Formula.class")) {
      return in.readAllBytes();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static DoubleUnaryOperator compileFormula() throws Exception {
    Class<?> compiled = MethodHandles.lookup().defineHiddenClass(CODE, true, ClassOption.STRONG).lookupClass();
    return (DoubleUnaryOperator) compiled.getDeclaredConstructor().newInstance();
  }

  public static void main(String[] arguments) throws Exception {
    double sum = 0;
    long begin = System.nanoTime();
    for (long number = 0; ; Thread.sleep(20)) {
      for (; number < (System.nanoTime() - begin) / 1e9 * 850; number++) {
        sum += compileFormula().applyAsDouble(number % 300);
      }
    }
  }
}
