// SPDX-License-Identifier: Apache-2.0
// Prepares previews of documents that are to be printed and sends them to whoever asked. Each is built in memory that the
// network can send from.

import java.nio.ByteBuffer;
import java.util.zip.CRC32;

public class PrintPreviews {
  static class Preview {
    final int document;
    final ByteBuffer pixels;

    Preview(int document, int width, int height) {
      this.document = document;
      pixels = ByteBuffer.allocateDirect(width * height);
    }

    void draw() {
      while (pixels.remaining() >= 8) {
        pixels.putLong(document * 0x9e3779b97f4a7c15L);
      }
      pixels.flip();
    }
  }

  private final CRC32 sent = new CRC32();

  long sendPreview(int document) {
    Preview preview = new Preview(document, 512, 400 + document % 200);
    preview.draw();
    sent.update(preview.pixels);
    return sent.getValue();
  }

  public static void main(String[] arguments) throws Exception {
    PrintPreviews previews = new PrintPreviews();
    long start = System.nanoTime(), sum = 0;
    for (int number = 0; ; Thread.sleep(20)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 9 / 1000; number++) {
        sum += previews.sendPreview(number);
      }
    }
  }
}
