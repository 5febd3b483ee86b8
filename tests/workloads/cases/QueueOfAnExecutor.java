// SPDX-License-Identifier: Apache-2.0
// A mailer whose pool of four threads is slower than the orders come: Executors' queue has no bound.
import java.util.*;
import java.util.concurrent.*;

public class QueueOfAnExecutor {
    static final class OrderMail implements Runnable {
        final String to; final List<String> lines = new ArrayList<>();
        OrderMail(int n) { to = "guest" + n + "@shop.example"; for (int i = 0; i < 25; i++) lines.add("line " + i + " of order " + n + ": one article"); }
        @Override public void run() { try { Thread.sleep(60); } catch (InterruptedException e) { } }
    }
    static final ExecutorService MAILER = Executors.newFixedThreadPool(4);
    static void confirmOrder(int n) { MAILER.submit(new OrderMail(n)); }
    public static void main(String[] a) throws Exception {
        for (int n = 0; ; n++) { confirmOrder(n); if (n % 12 == 0) Thread.sleep(10); }
    }
}
