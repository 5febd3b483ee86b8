// SPDX-License-Identifier: Apache-2.0
// Reads faxes that arrive as runs of black and white, and finds out who sent them. The handle of a page at the modem is
// given back when the page is not used any more.

import java.lang.ref.Cleaner;
import java.util.BitSet;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

public class FaxArchive {
  private static final Cleaner CLEANER = Cleaner.create();

  static class Modem {
    final BitSet open = new BitSet();
    final AtomicLong closed = new AtomicLong();
    private int next;

    synchronized int open() {
      next = open.nextClearBit(next % 4_000_000);
      open.set(next);
      return next;
    }

    synchronized void close(int handle) {
      open.clear(handle);
      closed.incrementAndGet();
    }
  }

  static class FaxPage {
    private final Modem modem;
    private final int handle;
    private final short[] runs;
    private final String header;

    FaxPage(Modem modem, Random chosen) {
      this.modem = modem;
      handle = modem.open();
      runs = new short[300 + chosen.nextInt(500)];
      for (int n = 0; n < runs.length; n++) {
        runs[n] = (short) chosen.nextInt(1728);
      }
      header = "FROM +49 " + chosen.nextInt(1_000_000_000) + " PAGE " + (1 + chosen.nextInt(3));
      CLEANER.register(this, () -> release());
    }

    void release() {
      modem.close(handle);
    }

    int black() {
      int sum = 0;
      for (int n = 1; n < runs.length; n += 2) {
        sum += runs[n];
      }
      return sum;
    }
  }

  static class Desk {
    final Modem modem = new Modem();
    final long[] bySender = new long[10_000];

    void receivePage(Random chosen) {
      FaxPage page = new FaxPage(modem, chosen);
      bySender[Math.floorMod(page.header.hashCode(), bySender.length)] += page.black();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Desk desk = new Desk();
    Random chosen = new Random(712);
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 2000 / 1000; number++) {
        desk.receivePage(chosen);
      }
    }
  }
}
