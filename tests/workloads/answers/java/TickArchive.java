// SPDX-License-Identifier: Apache-2.0
// Writes the prices of an exchange into mapped files of 512 KiB below a folder; another program is to move the full ones to
// an archive, and it was never installed. TickArchive -Darchive=FOLDER.

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;

public class TickArchive {
  static class Segment {
    static final int SIZE = 512 * 1024;
    final MappedByteBuffer ticks;

    Segment(Path path) throws IOException {
      try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ,
          StandardOpenOption.WRITE)) {
        ticks = file.map(FileChannel.MapMode.READ_WRITE, 0, SIZE);
      }
    }

    boolean isFull() {
      return ticks.remaining() < 32;
    }
  }

  private final Path folder;
  private Segment current;
  private int segments;

  TickArchive(Path folder) {
    this.folder = folder;
  }

  void append(long time, int share, double price, int pieces) throws IOException {
    if (current == null || current.isFull()) current = new Segment(folder.resolve("ticks-" + segments++ + ".bin"));
    current.ticks.putLong(time).putInt(share).putDouble(price).putInt(pieces).putLong(time ^ share);
  }

  public static void main(String[] arguments) throws Exception {
    TickArchive archive = new TickArchive(Path.of(System.getProperty("archive")));
    Random noise = new Random(510);
    double[] prices = new double[3000];
    java.util.Arrays.fill(prices, 100);
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 55_000 / 1000; number++) {
        int share = (int) (number % prices.length);
        prices[share] *= 1 + noise.nextGaussian() * 0.0005;
        archive.append(System.nanoTime(), share, prices[share], noise.nextInt(500));
      }
    }
  }
}
