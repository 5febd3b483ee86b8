// SPDX-License-Identifier: Apache-2.0
// A compressor for each stream that is kept open: its state is zlib's, outside of the heap.

import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

public class Deflaters {
  static final List<Deflater> STREAMS = new ArrayList<>();
  static final int PER_SECOND = 16;

  static void openStream(byte[] first) {
    Deflater deflater = new Deflater();
    deflater.setInput(first);
    deflater.deflate(new byte[1024], 0, 1024, Deflater.SYNC_FLUSH);
    STREAMS.add(deflater);
  }

  public static void main(String[] arguments) throws Exception {
    byte[] first = new byte[200 << 10];
    new java.util.Random(1).nextBytes(first);
    long start = System.nanoTime();
    while (true) {
      while (STREAMS.size() < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000) {
        openStream(first);
      }
      Thread.sleep(20);
    }
  }
}
