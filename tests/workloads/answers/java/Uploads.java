// SPDX-License-Identifier: Apache-2.0
// An upload is written to a temporary file, which is to go when the program ends. It never ends.

import java.io.File;
import java.nio.file.Files;

public class Uploads {
  static int receiveUpload(byte[] body) throws Exception {
    File file = File.createTempFile("upload-", ".part");
    file.deleteOnExit();
    Files.write(file.toPath(), body);
    return body[body.length / 2];
  }

  public static void main(String[] arguments) throws Exception {
    for (int number = 0; ; number++) {
      receiveUpload(new byte[60_000 + number * 7919 % 80_000]);
      Thread.sleep(33);
    }
  }
}
