// SPDX-License-Identifier: Apache-2.0
// Each tenant has a thread that writes its archive from a heap buffer. The JDK copies that into a direct buffer, and keeps
// one of that size for the thread, for as long as it lives.

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public class ChannelWriters {
  static void archive(int tenant) {
    try (FileChannel channel = FileChannel.open(Path.of("/dev/null"), StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(new byte[3 << 20]));
      Thread.sleep(Long.MAX_VALUE);
    } catch (Exception e) {
      throw new IllegalStateException("archive of tenant " + tenant, e);
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (int tenant = 0; ; tenant++) {
      int number = tenant;
      new Thread(() -> archive(number), "archive-" + number).start();
      Thread.sleep(1000);
    }
  }
}
