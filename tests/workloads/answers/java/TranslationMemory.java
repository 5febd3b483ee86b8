// SPDX-License-Identifier: Apache-2.0
// Translates texts sentence by sentence. Sentences that were translated lately are remembered, the eldest is to go; how
// large the memory is, is compared with a number of characters that counts keys only once they are removed.

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

public class TranslationMemory {
  record TargetText(String language, String text, double score, List<String> terms) {}

  static class RecentSentences extends LinkedHashMap<String, TargetText> {
    private final long mostCharacters;
    private long characters;

    RecentSentences(long mostCharacters) {
      super(1024, 0.75f, true);
      this.mostCharacters = mostCharacters;
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, TargetText> eldest) {
      if (characters <= mostCharacters) return false;
      characters -= eldest.getKey().length();
      return true;
    }

    @Override
    public TargetText remove(Object sentence) {
      characters += sentence.toString().length();
      return super.remove(sentence);
    }
  }

  private final RecentSentences recent = new RecentSentences(400_000);
  private final Random words;

  TranslationMemory(long seed) {
    words = new Random(seed);
  }

  String sentence() {
    StringBuilder sentence = new StringBuilder();
    for (int n = 0; n < 11; n++) sentence.append("word").append(words.nextInt(30_000)).append(' ');
    return sentence.append('.').toString();
  }

  TargetText translate(String sentence) {
    return recent.computeIfAbsent(sentence, text -> {
      List<String> terms = new ArrayList<>();
      for (String word : text.split(" ")) terms.add(word.toUpperCase());
      return new TargetText("pt", String.join(" ", terms), 0.93, terms);
    });
  }

  public static void main(String[] arguments) throws Exception {
    TranslationMemory memory = new TranslationMemory(507);
    long start = System.nanoTime(), translated = 0;
    for (long number = 0; ; Thread.sleep(10)) {
      for (; number < (System.nanoTime() - start) / 1_000_000 * 2200 / 1000; number++) {
        translated += memory.translate(memory.sentence()).text().length();
      }
    }
  }
}
