/** Settings → Access: the audit log, newest first, with a filter. */
import { formatFull } from '../../parts/relative-time.ts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import type { Api } from '../../../router.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Section, SelectRow } from '../../parts/field.tsx'
import { OWNER_NAME } from '../../../lib/base/owner-name.ts'
import { deviceName } from './device-name.ts'
import { t } from './strings.ts'

type AuditEntry = Api['GET /api/auth/audit']['output']['entries'][number]

const PAGE = 20
const GROUPS = {
  signin: 'sign-in,sign-in-failed,sign-out,device-paired,device-revoked',
  factors:
    'passkey-added,passkey-deleted,identity-linked,identity-unlinked,codes-on,codes-off,recovery-renewed,password-set,password-removed',
  people: 'person-invited,person-changed,person-removed',
  access: 'tokens,shares,keys',
  settings: 'settings',
  approvals: 'approval',
} as const
const GROUP_NAMES = ['signin', 'factors', 'people', 'access', 'settings', 'approvals'] as const

const TITLES: Readonly<Record<string, () => string>> = {
  'sign-in': () => t('activity.sign-in'),
  'sign-in-failed': () => t('activity.sign-in-failed'),
  'sign-out': () => t('activity.sign-out'),
  'device-revoked': () => t('activity.device-revoked'),
  'device-paired': () => t('activity.device-paired'),
  'passkey-added': () => t('activity.passkey-added'),
  'passkey-deleted': () => t('activity.passkey-deleted'),
  'identity-linked': () => t('activity.identity-linked'),
  'identity-unlinked': () => t('activity.identity-unlinked'),
  'codes-on': () => t('activity.codes-on'),
  'codes-off': () => t('activity.codes-off'),
  'recovery-renewed': () => t('activity.recovery-renewed'),
  'password-set': () => t('activity.password-set'),
  'password-removed': () => t('activity.password-removed'),
  'person-invited': () => t('activity.person-invited'),
  'person-changed': () => t('activity.person-changed'),
  'person-removed': () => t('activity.person-removed'),
  tokens: () => t('activity.tokens'),
  shares: () => t('activity.shares'),
  settings: () => t('activity.settings'),
  keys: () => t('activity.keys'),
  approval: () => t('activity.approval'),
}

/** Entries whose detail the title says. */
const SPECIAL: Readonly<Record<string, () => string>> = {
  'sign-in password': () => t('activity.by.password'),
  'sign-in passkey': () => t('activity.by.passkey'),
  'sign-in pairing': () => t('activity.by.pairing'),
  'sign-in oidc': () => t('activity.by.oidc'),
  'sign-in invitation': () => t('activity.by.invitation'),
  'sign-in-failed password wrong_code': () => t('activity.wrong-code'),
  'device-revoked others': () => t('activity.device-revoked.others'),
}

/** Details for people: neither ids nor error codes. */
const SHOWN = new Set([
  'device-paired',
  'identity-linked',
  'tokens',
  'settings',
  'keys',
  'approval',
])

const titleOf = ({ what, detail }: AuditEntry): string =>
  (SPECIAL[`${what} ${detail}`] ?? TITLES[what])?.() ?? what

const lineOf = ({ at, address, device, person, what, detail }: AuditEntry): string =>
  [
    // Who acted; absent while there is only one person.
    person === OWNER_NAME ? t('activity.owner') : person ? visibleName(person) : '',
    SHOWN.has(what) ? visibleName(detail) : '',
    formatFull(at),
    address,
    // A client chooses its name: direction marks could make the line read as another one.
    visibleName(deviceName(device) || device),
  ]
    .filter(Boolean)
    .join(' · ')

export const Activity = () => {
  const { attempt, api } = useShell()
  const group = useSignal('')
  const entries = useSignal<readonly AuditEntry[] | null>(null)
  const total = useSignal(0)
  const load = (skip: number) =>
    attempt(async () => {
      const current = group.value
      const kinds = GROUP_NAMES.find(name => name === current)
      const page = await api('GET /api/auth/audit', {
        kinds: kinds && GROUPS[kinds],
        skip,
        limit: PAGE,
      })
      // Another filter was chosen in the meantime.
      if (current !== group.value) return
      entries.value = [...(skip > 0 ? (entries.value ?? []) : []), ...page.entries]
      total.value = page.total
    })
  useEffect(() => void load(0), [])
  const list = entries.value
  if (!list) return null

  return (
    <Section title={t('activity.title')}>
      <SelectRow
        label={t('activity.filter')}
        hint={t('activity.text')}
        value={group.value}
        options={[
          ['', t('activity.all')],
          ...GROUP_NAMES.map(name => [name, t(`activity.group.${name}`)] as const),
        ]}
        onChange={value => {
          group.value = value
          void load(0)
        }}
      />
      {list.length === 0 && <p class="field-hint">{t('activity.none')}</p>}
      <ul class="activity">
        {list.map((entry, index) => (
          // Two entries may be equal, and entries are only added at the end of the list.
          <li
            key={`${index}`}
            class={entry.what === 'sign-in-failed' ? 'activity-failed' : undefined}
          >
            <span class="activity-title">{titleOf(entry)}</span>
            <span class="field-hint">{lineOf(entry)}</span>
          </li>
        ))}
      </ul>
      {list.length < total.value && (
        <div class="button-row">
          <Button onClick={() => void load(list.length)}>{t('activity.more')}</Button>
        </div>
      )}
    </Section>
  )
}
