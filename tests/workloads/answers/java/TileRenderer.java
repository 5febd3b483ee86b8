// SPDX-License-Identifier: Apache-2.0
// Renders tiles of maps on three threads. Each job is to stop when the server does: it hangs itself on a future that is
// completed at the end of the process, and nothing takes it off when the tile is done.

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

public class TileRenderer {
  static class TileJob {
    final long column, row;
    final short[] heights = new short[600];
    volatile boolean cancelled;

    TileJob(long column, long row) {
      this.column = column;
      this.row = row;
    }

    int shade() {
      int light = 0;
      for (int n = 0; n < heights.length && !cancelled; n++) {
        heights[n] = (short) (Math.sin(column * 0.01 + n) * 900 + Math.cos(row * 0.02) * 300);
        light += heights[n] >> 3;
      }
      return light;
    }

    void cancel() {
      cancelled = true;
    }
  }

  private final ExecutorService workers = Executors.newFixedThreadPool(3);
  private final CompletableFuture<Void> stopping = new CompletableFuture<>();

  CompletableFuture<Integer> render(long column, long row) {
    TileJob job = new TileJob(column, row);
    stopping.thenRun(job::cancel);
    return CompletableFuture.supplyAsync(job::shade, workers);
  }

  public static void main(String[] arguments) throws Exception {
    TileRenderer renderer = new TileRenderer();
    Semaphore open = new Semaphore(200);
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 1500 / 1000; number++) {
        open.acquire();
        renderer.render(number % 4096, number / 4096).whenComplete((light, failure) -> open.release());
      }
    }
  }
}
