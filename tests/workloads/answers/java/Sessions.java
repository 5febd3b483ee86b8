// SPDX-License-Identifier: Apache-2.0
// A static map of sessions that nobody ends.

import java.util.HashMap;
import java.util.Map;

public class Sessions {
  static class UserSession {
    final String user;
    final int[] cart = new int[200];

    UserSession(String user) {
      this.user = user;
    }
  }

  static final Map<String, UserSession> ACTIVE = new HashMap<>();
  static final int PER_SECOND = 9000;

  static void login(long number) {
    ACTIVE.put("token" + number, new UserSession("user" + number));
  }

  public static void main(String[] arguments) throws Exception {
    long start = System.nanoTime(), number = 0;
    while (true) {
      while (number < (System.nanoTime() - start) / 1_000_000 * PER_SECOND / 1000) {
        login(number++);
      }
      Thread.sleep(20);
    }
  }
}
