// SPDX-License-Identifier: Apache-2.0
// Each session has a Timer that looks after it. Nobody cancels it when the session ends, and each Timer is a thread.

import java.util.Timer;
import java.util.TimerTask;

public class SessionTimers {
  static void openSession(int number) {
    new Timer("session-" + number).schedule(new TimerTask() {
      @Override public void run() {
        String.format("session %d is alive: %s", number, java.time.Instant.now());
      }
    }, 10, 30_000);
  }

  public static void main(String[] arguments) throws Exception {
    for (int number = 0; ; number++) {
      openSession(number);
      Thread.sleep(25);
    }
  }
}
