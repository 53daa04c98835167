/** Takes over what earlier versions stored: drafts of one person, and messages in a database. */
import { createStore, del, values } from 'idb-keyval'
import type { Page } from '../../app.ts'
import type { JsonStorage } from '../../platform.ts'
import type { Draft } from '../../../lib/schema/session.ts'
import { isSame, noDraft } from '../composer/stored-draft.ts'
import { type Outgoing, PREFIX } from '../messages/outbox.ts'

/** Once: what this person has written since stays. `device`: where they were; `drafts`: of this person. */
export const adoptDrafts = (device: JsonStorage, drafts: JsonStorage): void => {
  for (const key of ['draft', 'draft-beside', 'unsaved-drafts']) {
    const before = device.read<unknown>(key, null)
    if (before === null || drafts.read(key, null) !== null) continue
    drafts.write(key, before)
    device.write(key, null)
  }
  // Those of new chats had no id of a chat.
  for (const key of ['draft', 'draft-beside']) {
    const before = drafts.read<Draft | null>(key, null)
    if (before && !isSame(before, noDraft)) drafts.write(`draft:${key}`, before)
    drafts.remove(key)
  }
}

type Kept = Outgoing & { account?: string }

/** False where there is no room for it. */
const adopt = ({ shell, outbox }: Page, message: Outgoing): boolean => {
  const { drafts } = shell.platform
  const key = PREFIX + message.id
  // That version gave messages of all sessions the id of the new chat that was begun last.
  drafts.write(key, { ...message, chat: message.session_id ?? message.chat, waiting: true })
  if (drafts.read(key, null) === null) return false
  outbox.reload()
  outbox.onWaiting()
  return true
}

/** Messages that were waiting, or being sent, when the page of the earlier version was closed. */
export const adoptOutbox = async (page: Page): Promise<void> => {
  const { drafts, account } = page.shell.platform
  for (const key of drafts.keys().filter(key => key.startsWith('in-flight:'))) {
    const message = drafts.read<Kept | null>(key, null)
    // Both take room: where there is too little, it stays for the next time.
    if (!message || adopt(page, message)) drafts.remove(key)
  }
  try {
    const database = createStore(
      `agent-webui ${new URL(page.shell.base).pathname} outbox`,
      'messages',
    )
    for (const { account: of = account, ...message } of await values<Kept>(database)) {
      if (of !== account) continue
      if (adopt(page, message)) await del(message.id, database)
    }
  } catch {
    // No database, as in some private windows: nothing was stored there.
  }
}
