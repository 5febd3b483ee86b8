// SPDX-License-Identifier: Apache-2.0
// A direct buffer for each connection; connections are never closed. The heap itself is small.

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

public class DirectBuffers {
  static class Connection {
    final ByteBuffer input = ByteBuffer.allocateDirect(256 << 10);

    void read() {
      while (input.hasRemaining()) {
        input.put((byte) 1);
      }
    }
  }

  static final List<Connection> OPEN = new ArrayList<>();
  static final int PER_SECOND = 30;

  static void accept() {
    Connection connection = new Connection();
    connection.read();
    OPEN.add(connection);
  }

  public static void main(String[] arguments) throws Exception {
    long start = System.nanoTime();
    while (true) {
      while (OPEN.size() < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000) {
        accept();
      }
      Thread.sleep(20);
    }
  }
}
