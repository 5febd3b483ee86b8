// SPDX-License-Identifier: Apache-2.0
// Messages wait as bytes in a queue; the thread that sent them ended with an exception at the first.

import java.nio.charset.StandardCharsets;
import java.util.concurrent.LinkedBlockingQueue;

public class Outbox {
  private static final LinkedBlockingQueue<byte[]> PENDING = new LinkedBlockingQueue<>();

  static byte[] encode(long number) {
    return ("{\"id\": " + number + ", \"text\": \"" + "reading ".repeat(60) + "\"}").getBytes(StandardCharsets.UTF_8);
  }

  static void post(long number) {
    PENDING.add(encode(number));
  }

  static void send() {
    try {
      byte[] message = PENDING.take();
      throw new IllegalStateException("no route for " + message.length + " bytes");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Thread sender = new Thread(Outbox::send, "sender");
    sender.setUncaughtExceptionHandler((thread, error) -> {});
    sender.start();
    long start = System.nanoTime();
    for (long number = 0; ; ) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 6; number++) {
        post(number);
      }
      Thread.sleep(20);
    }
  }
}
