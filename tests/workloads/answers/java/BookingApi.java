// SPDX-License-Identifier: Apache-2.0
// A web service on the JDK's own server. Each request notes its steps as an attribute of its exchange; those are not the
// exchange's, but of the context of the path, which lives as long as the server.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Executors;

public class BookingApi {
  record Step(String what, long nanos) {}

  static class RequestTrace {
    final String id = UUID.randomUUID().toString();
    final List<Step> steps = new ArrayList<>();

    void step(String what) {
      steps.add(new Step(what, System.nanoTime()));
    }
  }

  static void book(HttpExchange exchange) throws IOException {
    RequestTrace trace = new RequestTrace();
    exchange.setAttribute("trace-" + trace.id, trace);
    String wanted = new String(exchange.getRequestBody().readAllBytes());
    for (String seat : wanted.split(",")) trace.step("checked seat " + seat + " of " + exchange.getRequestURI());
    byte[] answer = ("booked " + trace.steps.size()).getBytes();
    exchange.sendResponseHeaders(200, answer.length);
    exchange.getResponseBody().write(answer);
    exchange.close();
  }

  /** The shops that book, at a steady rate. */
  static void book(int port) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    String seats = "12A,12B,12C,12D,14A,14B,14C,14D,15A,15B,15C,15D,16A,16B,16C,16D,17A,17B,17C,17D";
    long start = System.nanoTime();
    for (long number = 0; ; number++) {
      while (number >= (System.nanoTime() - start) / 1_000_000 * 520 / 1000) Thread.sleep(5);
      URI uri = URI.create("http://127.0.0.1:" + port + "/bookings/" + number % 7000);
      client.send(HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.ofString(seats)).build(),
          HttpResponse.BodyHandlers.ofString());
    }
  }

  public static void main(String[] arguments) throws Exception {
    System.setProperty("sun.net.httpserver.nodelay", "true");
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext("/bookings", BookingApi::book);
    server.setExecutor(Executors.newFixedThreadPool(3));
    server.start();
    book(server.getAddress().getPort());
  }
}
