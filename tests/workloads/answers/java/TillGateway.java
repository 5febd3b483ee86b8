// SPDX-License-Identifier: Apache-2.0
// Authorises payments by card at a bank that answers within some milliseconds. A payment that is not answered within a
// quarter of an hour is given back to the customer.

import java.util.ArrayDeque;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

public class TillGateway {
  static class CardPayment {
    final long number;
    final String merchant, card;
    final byte[] message;
    boolean answered, givenBack;

    CardPayment(long number, Random chosen) {
      this.number = number;
      merchant = "merchant " + chosen.nextInt(4000);
      card = String.format("4000 %04d %04d %04d", chosen.nextInt(10000), chosen.nextInt(10000), chosen.nextInt(10000));
      message = new byte[400 + chosen.nextInt(300)];
      chosen.nextBytes(message);
    }

    void giveBack() {
      givenBack = !answered;
    }
  }

  static class Bank {
    final ArrayDeque<CardPayment> asked = new ArrayDeque<>();
    long sum;

    void ask(CardPayment payment) {
      asked.add(payment);
    }

    CardPayment answer() {
      CardPayment payment = asked.poll();
      for (byte b : payment.message) {
        sum += b;
      }
      return payment;
    }
  }

  private final ScheduledExecutorService deadlines = Executors.newScheduledThreadPool(1);
  private final Bank bank = new Bank();

  void authorise(CardPayment payment) {
    deadlines.schedule(payment::giveBack, 15, TimeUnit.MINUTES);
    bank.ask(payment);
  }

  void receive() {
    bank.answer().answered = true;
  }

  public static void main(String[] arguments) throws Exception {
    TillGateway payments = new TillGateway();
    Random chosen = new Random(611);
    long start = System.nanoTime();
    for (long number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 2400 / 1000; number++) {
        payments.authorise(new CardPayment(number, chosen));
        if (number >= 50) {
          payments.receive();
        }
      }
    }
  }
}
