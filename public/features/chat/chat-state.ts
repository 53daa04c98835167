/** State of the open chat and what can be done with it. */
import { featureContext } from '../../parts/feature-context.ts'
import type { Queue } from '../queue/queue.ts'
import type { OpenChat } from './open-chat.ts'
import type { SessionChoices } from './session-choices.ts'
import type { TurnActions } from './turn-actions.ts'

export type ChatFeature = TurnActions &
  SessionChoices & {
    chat: OpenChat
    queue: Queue
    /** Shows the session that the address names; null for a new chat. */
    openSession: (id: string | null) => Promise<void>
  }

export const { Provider: ChatProvider, use: useChat } = featureContext<ChatFeature>('Chat')
