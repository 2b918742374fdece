package bartleby.interop;

import java.util.ArrayList;
import java.util.List;

/**
 * Splits a command line as a Windows program's runtime does: blanks separate words outside quotes, and inside quotes
 * a doubled quote is one quote. (Backslashes before quotes are not treated; the documents have none.)
 */
final class WindowsWords {
    private WindowsWords() {}

    static List<String> split(String line) {
        List<String> words = new ArrayList<>();
        StringBuilder word = new StringBuilder();
        boolean quoted = false;
        boolean begun = false;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '"' && quoted && i + 1 < line.length() && line.charAt(i + 1) == '"') {
                word.append('"');
                i++;
            } else if (c == '"') {
                quoted = !quoted;
                begun = true;
            } else if (c == ' ' && !quoted) {
                if (begun) {
                    words.add(word.toString());
                }
                word.setLength(0);
                begun = false;
            } else {
                word.append(c);
                begun = true;
            }
        }
        if (begun) {
            words.add(word.toString());
        }
        return words;
    }
}
