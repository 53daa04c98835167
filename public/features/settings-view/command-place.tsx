/** Settings → Permissions: where commands run, whether that works, and the switches of the sandbox and its network. */
import { AllowedCommands } from './allowed-commands.tsx'
import { PermissionRules } from './permission-rules.tsx'
import { useLoaded } from '../shell/use-loaded.ts'
import { joinSentences } from '../../strings/join-sentences.ts'
import { type Signal, useSignal } from '@preact/signals'
import { visibleText } from '../../../lib/base/visible.ts'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Row, Section, Select, SelectRow, SwitchRow } from '../../parts/field.tsx'
import { causeText } from '../../strings/server-text.ts'
import { t } from '../settings/command-place-strings.ts'

type SandboxState = Api['GET /api/sandbox']['output']
type SandboxChange = Api['POST /api/sandbox']['input']

const leadOf = ({ place, problem, container }: SandboxState): string => {
  if (place !== 'container' || container === null)
    return t(place === 'sandbox' ? 'place.sandbox' : 'place.computer')
  const { engine, image } = container
  if (image === null) return t('place.container.unknown', { engine })
  return joinSentences(
    t('place.container', { engine, image: visibleText(image) }),
    t(container.has_network ? 'place.container.network' : 'place.container.offline'),
    !container.is_downloaded && problem === null && t('place.container.download'),
  )
}

const patternsOf = ({ sandbox: { network } }: SandboxState): string[] | null =>
  typeof network === 'boolean' ? null : network.map(visibleText)

const networkHint = (place: SandboxState): string => {
  const patterns = patternsOf(place)
  if (patterns !== null) return t('place.network.list', { patterns })
  return t(place.sandbox.network === true ? 'place.network.on' : 'place.network.off')
}

const sandboxHint = ({ place, sandbox: { enabled, problem, sentences } }: SandboxState): string => {
  if (place === 'container' && enabled !== true) return t('place.sandbox.unavailable')
  return joinSentences(
    t('place.sandbox.hint'),
    enabled === 'auto' && t('place.sandbox.auto.hint'),
    enabled === true && t('place.sandbox.on.hint'),
    enabled !== true && problem !== null && causeText(visibleText(problem), sentences?.problem),
  )
}

/** Without `on` where it could not be. */
const choicesFor = ({ place, sandbox: { enabled, problem } }: SandboxState) =>
  CHOICES.filter(
    ([value]) => value !== 'on' || enabled === true || (problem === null && place !== 'container'),
  ).map(([value, text]) => [value, t(text)] as const)

const CHOICES = [
  ['auto', 'place.sandbox.auto'],
  ['on', 'place.sandbox.on'],
  ['off', 'place.sandbox.never'],
] as const

const OUTSIDE = ['changes', 'dangerous'] as const

const isOutside = (value: string): value is (typeof OUTSIDE)[number] =>
  OUTSIDE.some(each => each === value)

const CommandPlace = ({
  state,
  place,
}: {
  state: Signal<SandboxState | null>
  place: SandboxState
}) => {
  const { api, attempt, layout } = useShell()
  /** A switch keeps its position until the change is confirmed and saved, so it has to be drawn again. */
  const changes = useSignal(0)
  void changes.value
  const { enabled, network } = place.sandbox
  const save = (change: SandboxChange) =>
    attempt(async () => {
      state.value = await api('POST /api/sandbox', change)
    })
  const setEnabled = (setting: string) => {
    changes.value += 1
    if (setting !== 'off') return void save({ enabled: setting === 'on' ? true : 'auto' })
    layout.confirmation.value = {
      title: t('place.sandbox.off.title'),
      text: t('place.sandbox.off.text'),
      confirm: t('place.sandbox.off'),
      danger: true,
      run: () => save({ enabled: false }),
    }
  }
  const setNetwork = (on: boolean) => {
    changes.value += 1
    const patterns = patternsOf(place)
    if (patterns === null) return void save({ network: on })
    layout.confirmation.value = {
      title: t('place.network.replace.title'),
      text: t('place.network.replace.text', { patterns }),
      confirm: t('place.network.replace'),
      danger: true,
      run: () => save({ network: on }),
    }
  }
  return (
    <Section title={t('place.title')} lead={leadOf(place)} class="command-place">
      {place.problem !== null && (
        <p class="form-error" role="alert">
          {t('place.problem', {
            problem: causeText(visibleText(place.problem), place.sentences?.problem),
          })}
        </p>
      )}
      <Row
        label={t('place.sandbox.label')}
        hint={sandboxHint(place)}
        control={ids => (
          <Select
            key={changes.value}
            id={ids.control}
            describedBy={ids.hint}
            value={enabled === 'auto' ? 'auto' : enabled ? 'on' : 'off'}
            options={choicesFor(place)}
            onChange={setEnabled}
          />
        )}
      />
      {place.place === 'computer' && (
        <SelectRow
          label={t('place.outside.label')}
          hint={t(`place.outside.${place.outside}.hint`)}
          value={place.outside}
          options={OUTSIDE.map(each => [each, t(`place.outside.${each}`)] as const)}
          onChange={next => isOutside(next) && void save({ outside: next })}
        />
      )}
      {enabled !== false && (
        <SwitchRow
          label={t('place.network.label')}
          hint={networkHint(place)}
          checked={network === true}
          onChange={setNetwork}
        />
      )}
      <p class="field-hint">{t('place.applies', { source: place.source })}</p>
    </Section>
  )
}

/** What stands below comes with it, so that it is not pushed away. */
export const CommandSettings = () => {
  const { api } = useShell()
  const [state] = useLoaded(() => api('GET /api/sandbox'))
  const { value: place } = state
  return (
    place && (
      <>
        <CommandPlace state={state} place={place} />
        <PermissionRules />
        <AllowedCommands />
      </>
    )
  )
}
