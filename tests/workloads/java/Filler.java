// SPDX-License-Identifier: Apache-2.0
// A Java service that fills its container: Filler MODE MIB_PER_SECOND [STOP_MIB]. With STOP_MIB it stays there; with
// -Dfirst=MIB so much comes at once.
// Modes: heap (sessions in a map), service (the same, but of the newest 20,000 only), direct (direct
// buffers), threads, metaspace (a class loader for each class).

import java.io.DataInputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Filler {
  static class Session {
    final long id;
    final byte[] body = new byte[1000];

    Session(long id) {
      this.id = id;
    }
  }

  static final long SESSIONS_OF_SERVICE = 20_000;
  static final Map<Long, Session> SESSIONS = new HashMap<>();
  static final List<Object> KEPT = new ArrayList<>();
  static long made;

  public static void main(String[] arguments) throws Exception {
    String mode = arguments[0];
    long rate = Long.parseLong(arguments[1]);
    long stop = arguments.length > 2 ? Long.parseLong(arguments[2]) << 20 : Long.MAX_VALUE;
    long first = Long.getLong("first", 0) << 20;
    System.out.println("filling");
    long start = System.nanoTime(), filled = 0;
    while (true) {
      long due = Math.min(stop, first + (System.nanoTime() - start) / 1000 * rate);
      while (filled < due) {
        filled += fill(mode);
      }
      Thread.sleep(5);
    }
  }

  static long fill(String mode) throws Exception {
    switch (mode) {
      case "heap":
        for (int i = 0; i < 64; i++) {
          long id = SESSIONS.size();
          SESSIONS.put(id, new Session(id));
        }
        return 64 * 1100;
      case "service":
        for (int i = 0; i < 64; i++, made++) {
          SESSIONS.put(made % SESSIONS_OF_SERVICE, new Session(made));
        }
        return 64 * 1100;
      case "direct":
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
        for (int at = 0; at < 1 << 20; at += 4096) {
          buffer.put(at, (byte) 1);
        }
        KEPT.add(buffer);
        return 1 << 20;
      case "threads":
        Thread thread = new Thread(() -> deepen(400));
        thread.setDaemon(true);
        thread.start();
        KEPT.add(thread);
        return 100 << 10;
      default:
        KEPT.add(new Redeployed().again(Filler.class));
        return 16 << 10;
    }
  }

  /** What a server does that loads an application anew and keeps the old one: the same class, of a loader of its own. */
  static class Redeployed extends ClassLoader {
    Class<?> again(Class<?> type) throws Exception {
      try (DataInputStream in = new DataInputStream(type.getResourceAsStream(type.getName() + ".class"))) {
        byte[] code = new byte[in.available()];
        in.readFully(code);
        Class<?> again = defineClass(type.getName(), code, 0, code.length);
        again.getDeclaredMethods(); // links it
        return again;
      }
    }
  }

  static int deepen(int depth) {
    if (depth > 0) {
      return 1 + deepen(depth - 1);
    }
    try {
      Thread.sleep(1_000_000_000L);
    } catch (InterruptedException e) {
      return 0;
    }
    return 0;
  }
}
