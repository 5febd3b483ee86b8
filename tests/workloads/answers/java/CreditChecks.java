// SPDX-License-Identifier: Apache-2.0
// Answers over HTTP whether a customer may buy on account. Every rule that was applied says why it decided as it did, so
// that the support desk can ask for the last decisions on a customer.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;

public class CreditChecks {
  static class Decision {
    final String customer, rule, reason;
    final boolean allowed;
    final double[] scores = new double[72];

    Decision(String customer, String rule, boolean allowed, long cents) {
      this.customer = customer;
      this.rule = rule;
      this.allowed = allowed;
      reason = rule + (allowed ? " has nothing against " : " is against ") + cents + " cents for " + customer;
      for (int n = 0; n < scores.length; n++) {
        scores[n] = cents * 0.01 / (n + 1);
      }
    }
  }

  static class Trail {
    private final Map<String, List<Decision>> byCustomer = new HashMap<>();

    synchronized void note(Decision decision) {
      byCustomer.computeIfAbsent(decision.customer, c -> new ArrayList<>()).add(decision);
    }

    synchronized List<Decision> last(String customer) {
      List<Decision> all = byCustomer.getOrDefault(customer, List.of());
      return all.subList(Math.max(0, all.size() - 5), all.size());
    }
  }

  static class RuleBook {
    final String[] rules = {"limit", "overdue", "address", "country", "basket"};
    final Trail trail = new Trail();

    boolean apply(String customer, long cents) {
      boolean allowed = true;
      for (String rule : rules) {
        boolean passed = (cents * 31 + rule.hashCode()) % 17 != 0;
        trail.note(new Decision(customer, rule, passed, cents));
        allowed &= passed;
      }
      return allowed;
    }
  }

  static class Desk {
    final RuleBook book = new RuleBook();

    void check(HttpExchange exchange) throws IOException {
      String[] asked = exchange.getRequestURI().getQuery().split("&");
      boolean allowed = book.apply(asked[0].substring(9), Long.parseLong(asked[1].substring(6)));
      byte[] answer = ((allowed ? "yes, " : "no, ") + book.trail.last(asked[0]).size()).getBytes();
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    }
  }

  public static void main(String[] arguments) throws Exception {
    System.setProperty("sun.net.httpserver.nodelay", "true");
    Desk desk = new Desk();
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
    server.createContext("/check", desk::check);
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.start();
    HttpClient client = HttpClient.newHttpClient();
    Random chosen = new Random(711);
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 500 / 1000; number++) {
        URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/check?customer=customer-"
            + chosen.nextInt(90_000) + "&cents=" + chosen.nextInt(300_000));
        client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.discarding());
      }
    }
  }
}
