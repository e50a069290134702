// SPDX-License-Identifier: Apache-2.0

package peer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageQueue;

/** Sends messages of keys k0, k1, ... in turn, each key's numbered from 1. */
final class Produce {
    private static final MessageQueueSelector BY_HASH = new SelectMessageQueueByHash();

    static void run(String namesrv, String mode, String topic, int keys, int messages) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("java-producer");
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("producer-" + topic);
        producer.start();
        try {
            int each = messages / keys;
            switch (mode) {
                case "sync":
                    sync(producer, topic, keys, each);
                    break;
                case "async":
                    async(producer, topic, keys, each);
                    break;
                case "oneway":
                    oneway(producer, topic, keys, each);
                    break;
                case "batch":
                    batch(producer, topic, keys, each);
                    break;
                default:
                    throw new IllegalArgumentException(mode);
            }
        } finally {
            producer.shutdown();
        }
    }

    private static void sync(DefaultMQProducer p, String topic, int keys, int each) throws Exception {
        for (int seq = 1; seq <= each; seq++) {
            for (int k = 0; k < keys; k++) {
                stored(p.send(message(topic, k, seq), BY_HASH, "k" + k));
            }
        }
    }

    /** All keys at once, a key's next message when the one before is stored. */
    private static void async(DefaultMQProducer p, String topic, int keys, int each) throws Exception {
        AtomicReference<Throwable> failed = new AtomicReference<>();
        for (int seq = 1; seq <= each; seq++) {
            CountDownLatch answers = new CountDownLatch(keys);
            for (int k = 0; k < keys; k++) {
                p.send(message(topic, k, seq), BY_HASH, "k" + k, new SendCallback() {
                    @Override
                    public void onSuccess(SendResult result) {
                        if (result.getSendStatus() != SendStatus.SEND_OK) {
                            failed.set(new IllegalStateException(result.toString()));
                        }
                        answers.countDown();
                    }

                    @Override
                    public void onException(Throwable e) {
                        failed.set(e);
                        answers.countDown();
                    }
                });
            }
            if (!answers.await(30, TimeUnit.SECONDS) || failed.get() != null) {
                throw new IllegalStateException("asynchronous sends number " + seq, failed.get());
            }
        }
    }

    /** One-way sends of one thread go through one connection, in order; it lives until standard input ends. */
    private static void oneway(DefaultMQProducer p, String topic, int keys, int each) throws Exception {
        stored(p.send(message(topic, 0, 1), BY_HASH, "k0")); // makes the connection and the route known
        for (int seq = 1; seq <= each; seq++) {
            for (int k = seq == 1 ? 1 : 0; k < keys; k++) {
                p.sendOneway(message(topic, k, seq), BY_HASH, "k" + k);
            }
        }
        // The client may let an answered send overtake these inside itself: the test says when all have arrived.
        while (System.in.read() >= 0) {
            continue;
        }
    }

    /** Batches of up to ten messages of one key, to the key's queue. */
    private static void batch(DefaultMQProducer p, String topic, int keys, int each) throws Exception {
        List<MessageQueue> queues = p.fetchPublishMessageQueues(topic);
        for (int from = 1; from <= each; from += 10) {
            for (int k = 0; k < keys; k++) {
                List<Message> list = new ArrayList<>();
                for (int seq = from; seq < from + 10 && seq <= each; seq++) {
                    list.add(message(topic, k, seq));
                }
                stored(p.send(list, BY_HASH.select(queues, null, "k" + k)));
            }
        }
    }

    private static void stored(SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException(result.toString());
        }
    }

    private static Message message(String topic, int k, int seq) {
        // Every 50th is large enough to be compressed.
        StringBuilder body = new StringBuilder("k" + k + ":" + seq);
        for (int i = 0; seq % 50 == 0 && i < 2000; i++) {
            body.append(" and more");
        }
        Message m = new Message(topic, "Tag" + (char) ('A' + seq % 5), "key-" + k, body.toString().getBytes(StandardCharsets.UTF_8));
        m.putUserProperty("key", "k" + k);
        m.putUserProperty("seq", Integer.toString(seq));
        m.getProperties().put(MessageConst.PROPERTY_SHARDING_KEY, "k" + k);
        return m;
    }
}
