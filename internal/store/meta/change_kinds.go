// SPDX-License-Identifier: Apache-2.0

package meta

func (PutTopic) kind() kind        { return 1 }
func (DeleteTopic) kind() kind     { return 2 }
func (PutGroup) kind() kind        { return 3 }
func (DeleteGroup) kind() kind     { return 4 }
func (SetForbidden) kind() kind    { return 5 }
func (Commit) kind() kind          { return 6 }
func (FixStart) kind() kind        { return 7 }
func (ResetOffset) kind() kind     { return 8 }
func (ClearReset) kind() kind      { return 9 }
func (DropQueues) kind() kind      { return 10 }
func (GrantLease) kind() kind      { return 11 }
func (DropLease) kind() kind       { return 12 }
func (PutKV) kind() kind           { return 13 }
func (DeleteKV) kind() kind        { return 14 }
func (SetMark) kind() kind         { return 15 }
func (DeleteMark) kind() kind      { return 16 }
func (ReserveEpochs) kind() kind   { return 17 }
func (StartBroker) kind() kind     { return 18 }
func (PutProducer) kind() kind     { return 19 }
func (DropProducer) kind() kind    { return 20 }
func (AddFrame) kind() kind        { return 21 }
func (SetStateVersion) kind() kind { return 22 }
