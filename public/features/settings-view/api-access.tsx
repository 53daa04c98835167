/** API access: the switch, and the tokens of other programs. A token is shown once, when it is made. */
import { useLoaded } from '../shell/use-loaded.ts'
import { type Clock, fromSeconds } from '../../../lib/base/clock.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Row, Section, SwitchRow } from '../../parts/field.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { confirmed } from '../identity/confirm-password.tsx'
import { t } from '../settings/strings.ts'
import { ShareSettings } from '../shares/share-settings.tsx'

type Access = Api['GET /api/tokens']['output']
type Token = Access['tokens'][number]
type TokenSecret = { name: string; secret: string }

const isExpired = ({ expires_at: at }: Token, { now }: Clock): boolean =>
  at !== null && fromSeconds(at) <= now()

const expiryOf = (token: Token, clock: Clock): string => {
  if (token.expires_at === null) return ''
  const time = formatFull(token.expires_at)
  return isExpired(token, clock) ? t('api.expired', { time }) : t('api.expires', { time })
}

const hintOf = (token: Token, clock: Clock): string =>
  [
    token.profile,
    token.paths.map(path => `/${path}`).join(', '),
    token.scope === 'read' ? t('api.scope.read') : '',
    token.last_used_at === null
      ? t('api.unused')
      : t('api.used', { time: formatFull(token.last_used_at) }),
    expiryOf(token, clock),
  ]
    .filter(Boolean)
    .join(' · ')

const DEFAULT_DAYS = '365'
const expiries = (): (readonly [days: string, label: string])[] => [
  ['30', t('api.expiry.days', { count: 30 })],
  ['90', t('api.expiry.days', { count: 90 })],
  [DEFAULT_DAYS, t('api.expiry.year')],
  ['', t('api.expiry.never')],
]

type Paths = 'v1' | 'api' | 'both'

const NewToken = ({
  onMade,
  onCancel,
}: {
  onMade: (token: TokenSecret) => void
  onCancel: () => void
}) => {
  const shell = useShell()
  const { attempt, api } = shell
  const profiles = useSignal<readonly string[]>([])
  const name = useSignal('')
  const profile = useSignal('')
  const workspace = useSignal('')
  const approvals = useSignal<Token['approvals']>('ask')
  const disconnect = useSignal<Token['disconnect']>('stop')
  const days = useSignal(DEFAULT_DAYS)
  const scope = useSignal<Token['scope']>('work')
  const paths = useSignal<Paths>('v1')
  useEffect(() => {
    void attempt(async () => {
      const reply = await api('GET /api/profiles')
      profiles.value = reply.profiles.map(each => each.name)
      profile.value = reply.active
    })
  }, [])

  const submit = () =>
    attempt(async () => {
      const reply = await confirmed(shell, password =>
        api('POST /api/tokens/create', {
          name: name.value,
          profile: profile.value,
          workspace: workspace.value,
          approvals: approvals.value,
          disconnect: disconnect.value,
          expires_in_days: days.value === '' ? null : Number(days.value),
          scope: scope.value,
          paths: paths.value === 'both' ? ['v1', 'api'] : [paths.value],
          password,
        }),
      )
      if (reply) onMade({ name: name.value, secret: reply.secret })
    })

  return (
    <Form
      submit={t('api.new')}
      isIncomplete={name.value.trim() === ''}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextField
        label={t('api.name')}
        maxLength={100}
        placeholder={t('api.name.hint')}
        text={name}
      />
      {profiles.value.length > 1 && (
        <SelectField
          label={t('api.profile')}
          choice={profile}
          options={profiles.value.map(each => [each, each] as const)}
        />
      )}
      <SelectField label={t('api.expiry')} choice={days} options={expiries()} />
      <SelectField
        label={t('api.scope')}
        choice={scope}
        options={[
          ['work', t('api.scope.work')],
          ['read', t('api.scope.read')],
        ]}
      />
      <SelectField
        label={t('api.paths')}
        choice={paths}
        options={[
          ['v1', t('api.paths.v1')],
          ['api', t('api.paths.api')],
          ['both', t('api.paths.both')],
        ]}
      />
      <TextField
        label={t('api.workspace')}
        hint={t('api.workspace.hint')}
        dir="ltr"
        text={workspace}
      />
      <SelectField
        label={t('api.approvals')}
        choice={approvals}
        options={[
          ['ask', t('api.approvals.ask')],
          ['deny', t('api.approvals.deny')],
        ]}
      />
      <SelectField
        label={t('api.disconnect')}
        choice={disconnect}
        options={[
          ['stop', t('api.disconnect.stop')],
          ['continue', t('api.disconnect.continue')],
        ]}
      />
    </Form>
  )
}

const ApiAccess = () => {
  const { attempt, api, layout, platform } = useShell()
  const [access, load] = useLoaded(() => api('GET /api/tokens'))
  const isAdding = useSignal(false)
  const newToken = useSignal<TokenSecret | null>(null)
  const state = access.value
  if (!state) return null

  const enable = (enabled: boolean) =>
    void attempt(async () => {
      access.value = await api('POST /api/tokens/enable', { enabled })
    })

  const askRevoke = ({ id, name }: Token) => {
    layout.confirmation.value = {
      title: t('api.revoke.title', { name }),
      text: t('api.revoke.text'),
      confirm: t('api.revoke'),
      danger: true,
      async run() {
        access.value = await api('POST /api/tokens/revoke', { id })
      },
    }
  }

  return (
    <Section title={t('api.title')}>
      <SwitchRow
        label={t('api.enable')}
        hint={t('api.enable.hint', { address: new URL('v1', document.baseURI).href })}
        checked={state.enabled}
        onChange={enable}
      />
      {newToken.value && (
        <div class="api-secret" role="status">
          <p>{t('api.secret', { name: newToken.value.name })}</p>
          <div class="api-secret-line">
            <code dir="ltr">{newToken.value.secret}</code>
            <CopyButton text={newToken.value.secret} label={t('api.copy')} />
          </div>
          <p class="field-hint">{t('api.secret.hint')}</p>
        </div>
      )}
      {state.tokens.toReversed().map(token => (
        <Row
          key={token.id}
          label={token.name}
          hint={hintOf(token, platform.serverClock)}
          control={ids => (
            <Button
              id={ids.control}
              kind="danger"
              aria-label={t('api.revoke.what', { name: token.name })}
              onClick={() => askRevoke(token)}
            >
              {t('api.revoke')}
            </Button>
          )}
        />
      ))}
      {isAdding.value ? (
        <NewToken
          onMade={value => {
            newToken.value = value
            isAdding.value = false
            void load()
          }}
          onCancel={() => {
            isAdding.value = false
          }}
        />
      ) : (
        (state.enabled || state.tokens.length > 0) && (
          <div class="button-row">
            <Button
              onClick={() => {
                newToken.value = null
                isAdding.value = true
              }}
            >
              {t('api.new')}
            </Button>
          </div>
        )
      )}
    </Section>
  )
}

export const ProgramAccess = () => (
  <>
    <ApiAccess />
    <ShareSettings />
  </>
)
