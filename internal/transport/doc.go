// SPDX-License-Identifier: Apache-2.0

// Package transport carries remoting commands over connections, for both
// sides.
//
// It promises:
//
//   - Requests of one connection reach the Handler one after the other, in the
//     order of their arrival; OnClose comes after the last of them.
//   - A frame is checked before anything is allocated for it. One that lies
//     about its length or its form closes the connection, with one log line
//     that says why. Nothing else a peer sends does.
//   - What a peer can make this side hold is bounded per connection and in
//     all: open requests, unsent answers, connections, time.
//   - An answer finds its call by opaque, and each call ends: with the answer,
//     at its deadline, or when its connection ends.
//   - Urgent frames overtake what is queued.
//   - Close waits for every goroutine started here.
//
// A Conn has two goroutines. The reader decodes frames, runs the Handler and
// completes calls; the writer sends what Reply, Send and Call have queued,
// many frames per system call, large bodies without a copy:
//
//	socket -> reader -> Handler.Serve(conn, request) ... conn.Reply(request, answer) -> outbox -> writer -> socket
//	                 -> call done (answer)                conn.Call(request)         -> outbox
//
// Back-pressure: a connection with MaxInFlightBytes of unanswered requests is
// not read until some are answered; the peer slows itself down only. When the
// requests of all connections reach the total, small requests go on and large
// ones are answered SYSTEM_BUSY without being held. A peer that does not read
// its answers is closed once MaxQueuedBytes of them wait or a batch was not
// taken within WriteTimeout.
package transport
