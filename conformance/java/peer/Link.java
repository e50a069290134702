// SPDX-License-Identifier: Apache-2.0

package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.common.message.MessageExt;

/** The connection to the test's recorder: a JSON object a line, and one back for each. */
final class Link {
    private static final Pattern CALL = Pattern.compile("\"call\":(\\d+)");
    private static final Pattern WORK = Pattern.compile("\"work\":(\\d+)");

    private final OutputStream out;
    private final BufferedReader in;

    Link(String addr, String name) throws IOException {
        int colon = addr.lastIndexOf(':');
        Socket socket = new Socket(addr.substring(0, colon), Integer.parseInt(addr.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        out = socket.getOutputStream();
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        ask("{\"op\":\"hello\",\"consumer\":\"" + name + "\"}");
    }

    /** A whole handler call; true if it is to end with success. */
    boolean handle(MessageExt m) {
        String start = ask(String.format(
            "{\"op\":\"start\",\"start\":{\"key\":\"%s\",\"seq\":%s,\"attempt\":%d,\"queue\":\"%s/%s/%d\",\"offset\":%d}}",
            m.getUserProperty("key"), m.getUserProperty("seq"), m.getReconsumeTimes() + 1,
            m.getTopic(), m.getBrokerName(), m.getQueueId(), m.getQueueOffset()));
        Matcher work = WORK.matcher(start);
        if (work.find()) {
            try {
                Thread.sleep(Long.parseLong(work.group(1)) / 1_000_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false; // the call stays open in the record
            }
        }
        boolean fail = start.contains("\"end\":");
        ask("{\"op\":\"end\",\"call\":" + find(CALL, start) + ",\"failed\":" + fail + "}");
        return !fail;
    }

    private static String find(Pattern p, String text) {
        Matcher m = p.matcher(text);
        if (!m.find()) {
            throw new IllegalStateException("the recorder said " + text);
        }
        return m.group(1);
    }

    private synchronized String ask(String line) {
        try {
            out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
            String answer = in.readLine();
            if (answer == null || answer.contains("\"error\"")) {
                throw new IllegalStateException("the recorder said " + answer);
            }
            return answer;
        } catch (IOException e) {
            throw new IllegalStateException("the recorder is gone", e);
        }
    }
}
