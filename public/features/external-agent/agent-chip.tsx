/** The composer chip of an external agent (ACP): its mode, its options, and its earlier sessions. */
import { usePart } from '../../parts/use-part.ts'
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { Picker, type PickerGroup } from '../../parts/picker.tsx'
import { Popover } from '../../parts/popover.tsx'
import { choicesOf, ExternalAgentState, SIGN_IN, type ExternalChoice } from './external-agent.ts'
import { t } from './strings.ts'
import { AgentSessions } from './agent-sessions-view.tsx'
import { useChat, useComposer, useShell } from '../../contexts.ts'

/** The key of the "resume a session" entry; no choice has it. */
const PAST = 'past'

/** Lists of at least this length get a search field. */
const SEARCH_FROM = 10

const groupsOf = (choices: readonly ExternalChoice[], query: string): PickerGroup[] => {
  const words = query.toLowerCase().split(/\s+/)
  const matches = choices.filter(({ name, label, value }) =>
    words.every(word => `${label} ${name} ${value}`.toLowerCase().includes(word)),
  )
  return [...Map.groupBy(matches, ({ group }) => group)].map(([group, members]) => ({
    label: members[0]?.label ?? '',
    options: members.map(({ value, name, description, current }) => ({
      id: JSON.stringify([group, value]),
      label: name,
      ...(description ? { hint: description } : {}),
      ...(current ? { icon: 'check' as const } : {}),
    })),
  }))
}

export const AgentChip = ({ id }: { id: string }) => {
  const { platform, attempt, copy, layout, toasts } = useShell()
  const { skillCommands } = useComposer()
  const { transcript: chat } = useChat()
  const agent = useMemo(
    () =>
      new ExternalAgentState(platform, commands => {
        skillCommands.more.value = commands
      }),
    [],
  )
  const anchor = useRef<HTMLButtonElement>(null)
  const isOpen = useSignal(false)
  const isPastOpen = useSignal(false)
  const query = useSignal('')
  const isIdle = usePart(chat.chat, ({ live }) => live === null)

  // A turn may have started the agent or changed its mode.
  useEffect(() => {
    if (isIdle) void attempt(() => agent.load(id))
  }, [id, isIdle])
  useEffect(() => agent.reset, [])

  const session = agent.current.value
  if (!session?.agent) return null
  const { name } = session.agent
  const choices = choicesOf(session, t('mode'), t('signIn', { name }))
  const mode = choices.find(({ group, current }) => group === 'mode' && current)?.name
  const isSignedOut = !session.is_open && session.sign_in !== null
  const title = t(isSignedOut ? 'signIn' : session.is_open ? 'chip' : 'open', { name })
  const caption = agent.busy.value ? t('opening') : isSignedOut ? title : (mode ?? name)
  const close = () => {
    isOpen.value = false
    query.value = ''
  }
  const toggle = async () => {
    if (isPastOpen.value) {
      isPastOpen.value = false
      return
    }
    if (isOpen.value) return close()
    if (!session.is_open) await attempt(() => agent.open(id))
    const now = agent.current.value
    if (now?.is_open || now?.sign_in?.methods.length) isOpen.value = true
    else if (now?.sign_in) void toasts.show(now.sign_in.said || t('signIn.own', { name }))
  }
  const choose = async (group: string, value: string) => {
    const command = group === SIGN_IN ? agent.commandOf(value) : ''
    if (command === '') return agent.choose(id, { group, value })
    await copy(command)
    void toasts.show(t('signIn.copied', { name }))
  }

  return (
    <>
      <button
        ref={anchor}
        type="button"
        class="chip chip-agent"
        aria-label={`${title}: ${caption}`}
        aria-haspopup="listbox"
        aria-expanded={isOpen.value || isPastOpen.value}
        title={title}
        disabled={agent.busy.value}
        onClick={() => void toggle()}
      >
        <Icon name={agent.busy.value ? 'spinner' : 'settings'} size={14} />
        <span class="chip-value">{caption}</span>
      </button>
      {isOpen.value && (
        <Popover anchor={anchor} onClose={close} side="above" class="popover-picker">
          <Picker
            label={title}
            placeholder={t('search')}
            groups={[
              ...groupsOf(choices, query.value),
              ...(query.value === '' && session.is_open
                ? [{ label: t('earlier'), options: [{ id: PAST, label: t('past', { name }) }] }]
                : []),
            ]}
            empty={t('nothing', { name })}
            query={choices.length >= SEARCH_FROM ? query : undefined}
            onPick={key => {
              if (key === PAST) {
                close()
                isPastOpen.value = true
                return
              }
              const [group, value] = JSON.parse(key) as [string, string]
              close()
              layout.composerFocus.value += 1
              void attempt(() => choose(group, value))
            }}
          />
        </Popover>
      )}
      {isPastOpen.value && (
        <AgentSessions
          id={id}
          name={name}
          anchor={anchor}
          onClose={() => {
            isPastOpen.value = false
          }}
        />
      )}
    </>
  )
}
