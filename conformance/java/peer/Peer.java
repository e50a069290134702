// SPDX-License-Identifier: Apache-2.0

package peer;

/** The published Java client as one end of a test; the test says what to do. */
public final class Peer {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "produce": // NAMESRV MODE TOPIC KEYS MESSAGES
                Produce.run(args[1], args[2], args[3], Integer.parseInt(args[4]), Integer.parseInt(args[5]));
                break;
            case "consume": // NAMESRV orderly|concurrent TOPIC GROUP NAME RECORDER
                Consume.run(args[1], args[2].equals("orderly"), args[3], args[4], args[5], args[6]);
                break;
            case "decode": // FILE
                Decode.run(args[1]);
                break;
            case "reset": // NAMESRV TOPIC GROUP MILLIS
                Reset.run(args[1], args[2], args[3], Long.parseLong(args[4]));
                break;
            case "pull": // NAMESRV subscribe|assign|pull TOPIC GROUP MESSAGES
                Pull.run(args[1], args[2], args[3], args[4], Integer.parseInt(args[5]));
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }
}
