/** Settings → Models and keys: the default model, API keys and their sources, local model servers. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { LocalServer, ProviderRow } from '../../../lib/schema/provider.ts'
import { Button } from '../../parts/button.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { type Providers, providersOf, type TestStatus } from './providers.ts'
import { causeText, serverText } from '../../strings/server-text.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { ModelPick } from './model-list.tsx'
import { DefaultModel } from './default-model.tsx'
import { useShell } from '../../contexts.ts'
import { EmptyNote, LoadNote } from '../../parts/view-state.tsx'

/** The result of a test call, as a live region. What to do about a connection speaks of messages, which a test has none of. */
export const TestResult = ({ status }: { status: TestStatus | undefined }) => (
  <p
    class={`verdict${status && !status.busy ? (status.ok ? ' verdict-ok' : ' verdict-bad') : ''}`}
    role="status"
  >
    {status?.busy && t('keys.testing')}
    {status && !status.busy && (
      <>
        <Icon name={status.ok ? 'check' : 'alert'} size={14} />
        <span>
          {causeText(status.message, status.sentences?.message)}
          {status.hint && status.sentences?.hint?.code !== 'advice.connection' && (
            <span class="verdict-hint">{serverText(status.hint, status.sentences?.hint)}</span>
          )}
        </span>
      </>
    )}
  </p>
)

const sourceOf = (row: ProviderRow): string => {
  const name = row.key_name ?? row.env_var ?? ''
  switch (row.key_source) {
    case 'env_file':
    case 'env_var':
    case 'config_yaml':
      return t(`source.${row.key_source}`, { name })
    default:
      return t(`source.${row.key_source}`)
  }
}

type AddressProps = { row: ProviderRow; providers: Providers; onDone: () => void }

const AddressForm = ({ row, providers, onDone }: AddressProps) => {
  const address = useSignal(row.base_url ?? '')
  const key = useSignal('')
  const name = useSignal(row.display_name)
  // The id of another one is made of its name, and chats have it.
  const isNamed = row.id === 'custom'
  return (
    <Form
      submit={t('address.save')}
      isIncomplete={address.value.trim() === ''}
      onCancel={onDone}
      onSubmit={async () => {
        const newName = name.value === row.display_name ? undefined : name.value
        await providers.move(row.id, address.value, key.value, newName)
        onDone()
      }}
    >
      {isNamed && <TextField label={t('address.name')} text={name} maxLength={100} />}
      <TextField label={t('setup.base_url')} type="url" dir="ltr" text={address} />
      <TextField label={t('add.key')} hint={t('address.key')} type="password" text={key} />
    </Form>
  )
}

const KeyRow = ({ row, providers }: { row: ProviderRow; providers: Providers }) => {
  const { layout } = useShell()
  const name = row.display_name
  const status = providers.tests.value[row.id]
  const isEdited = useSignal(false)
  const askRemove = () => {
    layout.confirmation.value = {
      title: t('keys.remove.title'),
      text: t('keys.remove.text', { variable: row.key_name ?? '', name }),
      confirm: t('keys.remove'),
      danger: true,
      run: () => providers.remove(row.id),
    }
  }
  return (
    <li class="key-row">
      <div class="key-line">
        <div class="field-text">
          <p class="key-name">
            {name}
            {row.id === providers.active.value && <span class="key-mark">{t('keys.active')}</span>}
          </p>
          {row.needs_sign_in ? (
            <p class="verdict verdict-bad">
              <Icon name="alert" size={14} />
              <span>{t('source.expired')}</span>
            </p>
          ) : (
            <p class="field-hint">{sourceOf(row)}</p>
          )}
          {row.base_url && (
            <p class="field-hint">
              <bdi>{row.base_url}</bdi>
            </p>
          )}
        </div>
        <div class="key-actions">
          {row.base_url && (
            <Button
              asks="POST /api/providers/address"
              aria-label={t('address.edit', { name })}
              aria-expanded={isEdited.value}
              onClick={() => {
                isEdited.value = !isEdited.value
              }}
            >
              {t('keys.edit')}
            </Button>
          )}
          <Button
            aria-label={t('keys.test.of', { name })}
            disabled={status?.busy === true}
            onClick={() => void providers.test(row.id, { provider: row.id, key: '' })}
          >
            {t('keys.test')}
          </Button>
          {row.key_source === 'env_file' && (
            <Button aria-label={t('keys.remove.of', { name })} onClick={askRemove}>
              {t('keys.remove')}
            </Button>
          )}
        </div>
      </div>
      {isEdited.value && (
        <AddressForm
          row={row}
          providers={providers}
          onDone={() => {
            isEdited.value = false
          }}
        />
      )}
      <TestResult status={status} />
    </li>
  )
}

const AddKey = ({ providers }: { providers: Providers }) => {
  const { attempt } = useShell()
  const provider = useSignal('openrouter')
  const key = useSignal('')
  const row = providers.addable.value.find(each => each.id === provider.value)
  const blank = key.value.trim() === ''
  const status = providers.tests.value.new
  const save = () =>
    attempt(async () => {
      await providers.save(provider.value, key.value)
      key.value = ''
      providers.setTest('new', null)
    })
  const clearTest = () => providers.setTest('new', null)
  return (
    <Form
      submit={t('add.save')}
      sending={t('add.saving')}
      isIncomplete={blank}
      onSubmit={save}
      actions={
        <Button
          disabled={blank || status?.busy === true}
          onClick={() => void providers.test('new', { provider: provider.value, key: key.value })}
        >
          {t('add.test')}
        </Button>
      }
    >
      <SelectField
        label={t('add.provider')}
        value={provider.value}
        options={providers.addable.value.map(each => [each.id, each.display_name] as const)}
        onChange={value => {
          provider.value = value
          clearTest()
        }}
      />
      <TextField
        label={t('add.key')}
        hint={
          <>
            {row?.env_var && t('add.hint', { variable: row.env_var })}{' '}
            {row?.has_key && t('add.replaces')}{' '}
            {row?.key_page && (
              <a href={row.key_page} target="_blank" rel="noopener noreferrer">
                {t('add.page')}
              </a>
            )}
          </>
        }
        type="password"
        value={key.value}
        onInput={text => {
          key.value = text
          clearTest()
        }}
      />
      <TestResult status={status} />
    </Form>
  )
}

const Server = ({ server, providers }: { server: LocalServer; providers: Providers }) => {
  const { attempt } = useShell()
  const model = useSignal(server.models[0]?.id ?? '')
  const busy = useSignal(false)
  const use = async () => {
    busy.value = true
    await attempt(() => providers.use(server, model.value))
    busy.value = false
  }
  return (
    <li class="key-row">
      <div class="key-line">
        <div class="field-text">
          <p class="key-name">
            {server.name}
            {server.configured && <span class="key-mark">{t('local.configured')}</span>}
          </p>
          <p class="field-hint">
            {server.base_url} ·{' '}
            {server.models.length > 0
              ? t('local.models', { count: server.models.length })
              : t('local.empty')}
          </p>
        </div>
        {server.models.length > 0 && (
          <div class="key-actions">
            <ModelPick
              id={`local-${server.id}`}
              describedBy={undefined}
              label={t('local.model', { name: server.name })}
              offered={server.models}
              selected={model.value}
              onPick={id => {
                model.value = id
              }}
            />
            <Button disabled={busy.value} onClick={() => void use()}>
              {t('local.use')}
            </Button>
          </div>
        )}
      </div>
    </li>
  )
}

const LocalServers = ({ providers }: { providers: Providers }) => {
  const { attempt } = useShell()
  const servers = providers.servers.value
  return (
    <section class="view-part" aria-labelledby="local-title">
      <div class="key-head">
        <div class="field-text">
          <h3 id="local-title">{t('local.title')}</h3>
          <p class="field-hint">{t('local.lead')}</p>
        </div>
        <Button
          icon="search"
          disabled={servers === 'looking'}
          onClick={() => void attempt(() => providers.scan())}
        >
          {t(servers === 'looking' ? 'local.finding' : 'local.find')}
        </Button>
      </div>
      <div role="status">
        {Array.isArray(servers) && servers.length === 0 && (
          <EmptyNote title={t('local.none')} text={t('local.none.text')} />
        )}
      </div>
      {Array.isArray(servers) && servers.length > 0 && (
        <ul class="key-list">
          {servers.map(server => (
            <Server key={server.id} server={server} providers={providers} />
          ))}
        </ul>
      )}
    </section>
  )
}

const Keys = ({ providers }: { providers: Providers }) => {
  const connected = providers.connected.value
  return (
    <>
      <section class="view-part" aria-labelledby="keys-title">
        <h3 id="keys-title">{t('keys.title')}</h3>
        <p class="field-hint">{t('keys.lead')}</p>
        {connected.length === 0 ? (
          <EmptyNote title={t('keys.none')} text={t('keys.none.text')} />
        ) : (
          <ul class="key-list">
            {connected.map(row => (
              <KeyRow key={row.id} row={row} providers={providers} />
            ))}
          </ul>
        )}
      </section>
      <section class="view-part" aria-labelledby="add-title">
        <h3 id="add-title">{t('add.title')}</h3>
        <AddKey providers={providers} />
      </section>
      <LocalServers providers={providers} />
    </>
  )
}

export const ModelSettings = () => {
  const app = useApp()
  const providers = providersOf(app)
  const profile = app.profiles.active.value
  useEffect(() => void providers.load(), [profile])
  return (
    <>
      <div class="rows">
        <DefaultModel />
      </div>
      {providers.state.value === 'ready' ? (
        <Keys providers={providers} />
      ) : (
        <LoadNote
          state={providers.state.value}
          failed={t('failed')}
          onRetry={() => void providers.load()}
        />
      )}
    </>
  )
}
