// SPDX-License-Identifier: Apache-2.0
// Reads recordings of seismic stations and looks for the strongest movement in each. A recording closes its place in the
// shared log when it is not used any more, and the log is written at its own pace.

import java.util.Random;

public class SeismicStations {
  static class StationLog {
    private long closed;

    synchronized void close(int station) throws InterruptedException {
      closed += station;
      Thread.sleep(2);
    }
  }

  static class Recording {
    final int station;
    final StationLog log;
    final float[] movements;

    Recording(int station, StationLog log, Random chosen) {
      this.station = station;
      this.log = log;
      movements = new float[500 + chosen.nextInt(300)];
      for (int n = 0; n < movements.length; n++) {
        movements[n] = chosen.nextFloat() * (n % 50) - 20;
      }
    }

    float strongest() {
      float found = 0;
      for (float movement : movements) {
        found = Math.max(found, Math.abs(movement));
      }
      return found;
    }

    @Override
    @SuppressWarnings({"deprecation", "removal"})
    protected void finalize() throws Throwable {
      log.close(station);
    }
  }

  static float readStation(int station, StationLog log, Random chosen) {
    return new Recording(station, log, chosen).strongest();
  }

  public static void main(String[] arguments) throws Exception {
    StationLog log = new StationLog();
    Random chosen = new Random(612);
    double moved = 0;
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 1400 / 1000; number++) {
        moved += readStation((int) (number % 300), log, chosen);
      }
    }
  }
}
