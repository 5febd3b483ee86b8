// SPDX-License-Identifier: Apache-2.0
// Who is online, by connection. A WeakHashMap was to forget connections that are gone, but what it knows of one refers to
// that one.

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.WeakHashMap;

public class PresenceService {
  static class Connection {
    final String address;
    final byte[] readBuffer = new byte[2048];

    Connection(String address) {
      this.address = address;
    }
  }

  static class Presence {
    final Connection connection;
    final List<String> seenIn = new ArrayList<>();

    Presence(Connection connection) {
      this.connection = connection;
    }
  }

  private final Map<Connection, Presence> online = new WeakHashMap<>();

  void connected(Connection connection, Random random) {
    Presence presence = online.computeIfAbsent(connection, Presence::new);
    for (int n = 0; n < 8; n++) presence.seenIn.add("channel " + random.nextInt(5000));
  }

  int announce() {
    return online.size();
  }

  public static void main(String[] arguments) throws Exception {
    PresenceService service = new PresenceService();
    Random random = new Random(71);
    long start = System.nanoTime(), number = 0, announced = 0;
    for (; ; Thread.sleep(20)) {
      while (number < (System.nanoTime() - start) / 1_000_000 * 700 / 1000) {
        service.connected(new Connection("10.2." + number % 250 + "." + number % 199), random);
        number++;
      }
      announced += service.announce();
    }
  }
}
