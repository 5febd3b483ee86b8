// SPDX-License-Identifier: Apache-2.0
// Direct buffers are used again, by their size. Messages have nearly as many sizes as there are messages.

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

public class BufferPool {
  private final Map<Integer, ArrayDeque<ByteBuffer>> free = new HashMap<>();

  ByteBuffer borrow(int bytes) {
    ByteBuffer found = free.computeIfAbsent(bytes, size -> new ArrayDeque<>()).poll();
    return found != null ? found : ByteBuffer.allocateDirect(bytes);
  }

  void giveBack(ByteBuffer buffer) {
    free.get(buffer.capacity()).push(buffer.clear());
  }

  public static void main(String[] arguments) throws Exception {
    BufferPool pool = new BufferPool();
    Random random = new Random(31);
    for (; ; Thread.sleep(10)) {
      ByteBuffer message = pool.borrow(20_000 + random.nextInt(60_000));
      while (message.remaining() >= 8) message.putLong(random.nextLong());
      pool.giveBack(message);
    }
  }
}
