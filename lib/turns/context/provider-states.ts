/** Reasoning of finished turns: recorded in the provider's form beside its message, and attached again for the engine. */
import { isObjectOrArray } from '../../base/json.ts'
import type { LoopMessage, ProviderState } from '../../agent/types.ts'
import type { NewEntry, StoredState } from '../../sessions/entries.ts'

/**
 * Longer states are not recorded (characters of JSON; the longest answers have about 130,000 tokens of reasoning, half
 * as much). Such a message is sent without its reasoning in later turns.
 */
const MAX_STATE_CHARS = 1_000_000

/** False when masking would change a string in it. */
const isUnmasked = (value: unknown, redactKnown: (text: string) => string): boolean => {
  if (typeof value === 'string') return redactKnown(value) === value
  return (
    !isObjectOrArray(value) || Object.values(value).every(inner => isUnmasked(inner, redactKnown))
  )
}

/**
 * The journal entry of a state. None when it contains a secret: a changed text would no longer match its signature and
 * its positions in the message, and the secret must not be stored.
 */
export const toStateEntry = (
  id: string | undefined,
  state: ProviderState | undefined,
  redactKnown: (text: string) => string,
): Extract<NewEntry, { t: 'provider_state' }>[] => {
  if (id === undefined || !state || JSON.stringify(state.items).length > MAX_STATE_CHARS) return []
  if (!isUnmasked(state.items, redactKnown)) return []
  const { endpointKey: key, items, callSources: sources } = state
  return [
    {
      t: 'provider_state',
      id,
      key,
      items: [...items],
      ...(sources && { sources: sources.map(places => [...places]) }),
    },
  ]
}

/** The history with its states. `current`: ids of messages of the turn that continues. Messages replaced by a summary are not in it, so theirs are not sent. */
export const withStates = (
  history: LoopMessage[],
  states: ReadonlyMap<string, StoredState>,
  current: readonly string[] = [],
): LoopMessage[] =>
  history.map(message => {
    const state = message.role === 'assistant' ? states.get(message.id ?? '') : undefined
    if (!state) return message
    const { key: endpointKey, items, sources: callSources } = state
    const isEarlier = !current.includes(message.id ?? '')
    const providerState: ProviderState = { endpointKey, items, callSources, isEarlier }
    return { ...message, providerState }
  })
