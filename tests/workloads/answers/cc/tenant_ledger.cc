// SPDX-License-Identifier: Apache-2.0
// Transactions of each tenant's accounts are kept for a statement that is never made.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pace.h"

namespace bank {

struct Transaction {
  long id;
  double amount;
  char reference[48];
};

struct Account {
  std::string iban;
  std::vector<Transaction> transactions;
};

class Ledger {
 public:
  std::shared_ptr<Account> find_or_open(const std::string& iban) {
    auto& account = accounts_[iban];
    if (!account) account = std::make_shared<Account>(Account{iban, {}});
    return account;
  }

  void book(const std::string& iban, long id, double amount) {
    Transaction transaction{id, amount, {}};
    std::snprintf(transaction.reference, sizeof transaction.reference, "invoice %ld of %s", id, iban.c_str());
    find_or_open(iban)->transactions.push_back(transaction);
  }

 private:
  std::unordered_map<std::string, std::shared_ptr<Account>> accounts_;
};

}  // namespace bank

int main() {
  std::map<std::string, bank::Ledger> tenants;
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 26000, number); number < due; ++number) {
      const long account = number * 7919 % 9001 * (number * 104729 % 9001) / 9001;  // few have many
      tenants["tenant-" + std::to_string(number % 7)].book("DE89370400440532" + std::to_string(account), number,
                                                           number * 0.01);
    }
  }
}
