/** The dialog that connects the first model: sources found, sources to add, a test call. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormActions, SelectField, TextField } from '../../parts/form.tsx'
import { type Connect, connectOf, type ModelSource } from './connect.ts'
import { providersOf } from './providers.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { TestResult } from './models-view.tsx'
import { LoadingNote } from '../../parts/view-state.tsx'

const Choice = ({ source, connect }: { source: ModelSource; connect: Connect }) => (
  <label class="source">
    <input
      type="radio"
      name="source"
      class="sr-only"
      checked={connect.chosen.value === source.id}
      onChange={() => connect.choose(source.id)}
    />
    <span class="source-box">
      <span class="key-name">{source.name}</span>
      <span class="field-hint">{source.text}</span>
    </span>
  </label>
)

const Choices = ({ list, connect }: { list: readonly ModelSource[]; connect: Connect }) =>
  list.map(source => <Choice key={source.id} source={source} connect={connect} />)

const Sources = ({
  title,
  list,
  connect,
}: {
  title: string
  list: readonly ModelSource[]
  connect: Connect
}) =>
  list.length === 0 ? null : (
    <fieldset class="sources">
      <legend>{title}</legend>
      <Choices list={list} connect={connect} />
    </fieldset>
  )

/** Local servers come first: they need no key, and nothing leaves the machine. */
const NoLocalServer = ({ scan }: { scan: () => void }) => (
  <div class="connect-local">
    <p class="field-hint">{t('setup.local.none')}</p>
    <Button icon="refresh" onClick={scan}>
      {t('setup.local.scan')}
    </Button>
  </div>
)

const More = ({ connect }: { connect: Connect }) => {
  const list = connect.more.value
  if (list.length === 0) return null
  return (
    <details class="connect-more" open={list.some(({ id }) => id === connect.chosen.value)}>
      <summary>{t('setup.more', { count: list.length })}</summary>
      <fieldset class="sources" aria-label={t('setup.more', { count: list.length })}>
        <Choices list={list} connect={connect} />
      </fieldset>
    </details>
  )
}

const Fields = ({ source, connect }: { source: ModelSource; connect: Connect }) => {
  const app = useApp()
  const models = connect.offered.value
  const list = () => void app.shell.attempt(() => connect.listModels())
  const form = useRef<HTMLDivElement>(null)
  // The fields of a provider chosen from the long list would be out of view.
  useEffect(() => {
    if (source.group === 'more') form.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <div ref={form} class="form">
      {source.needsAddress && (
        <TextField
          label={t('setup.base_url')}
          type="url"
          placeholder={t('setup.base_url.hint')}
          value={connect.typed.address.value}
          onInput={text => connect.type('address', text)}
          onChange={list}
        />
      )}
      {!source.server && (
        <TextField
          label={t('add.key')}
          hint={
            source.hasKey
              ? t('setup.key.there')
              : source.keyPage && (
                  <a href={source.keyPage} target="_blank" rel="noopener noreferrer">
                    {t('setup.key.page', { name: source.name })}
                  </a>
                )
          }
          type="password"
          value={connect.typed.key.value}
          onInput={text => connect.type('key', text)}
          onChange={list}
        />
      )}
      {models.length > 0 ? (
        <SelectField
          label={t('setup.model')}
          value={connect.typed.model.value}
          options={models.map(model => [model.id, model.label] as const)}
          onChange={value => connect.type('model', value)}
        />
      ) : (
        <TextField
          label={t('setup.model')}
          value={connect.typed.model.value}
          onInput={text => connect.type('model', text)}
        />
      )}
    </div>
  )
}

export const ConnectDialog = () => {
  const app = useApp()
  const providers = providersOf(app)
  const connect = connectOf(app)
  const busy = useSignal(false)
  useEffect(() => void app.shell.attempt(() => connect.load()), [])
  const source = connect.source.value
  const status = providers.tests.value.connect
  const start = async (event: Event, overwrite = false) => {
    event.preventDefault()
    if (busy.value || !connect.ready.value) return
    busy.value = true
    await app.shell.attempt(() => connect.start({ overwrite }))
    busy.value = false
  }
  const close = () => {
    app.models.onboarding.open.value = false
  }
  return (
    <Dialog title={t('setup.title')} closeLabel={t('app.close')} onClose={close}>
      <form class="connect" onSubmit={event => void start(event)}>
        <p class="view-lead">{t('setup.lead')}</p>
        {connect.loaded.value ? (
          <>
            {!connect.found.value.some(({ server }) => server) && (
              <NoLocalServer scan={() => void app.shell.attempt(() => connect.load())} />
            )}
            <Sources title={t('setup.found')} list={connect.found.value} connect={connect} />
            <Sources title={t('setup.popular')} list={connect.popular.value} connect={connect} />
            <More connect={connect} />
            {source && <Fields key={source.id} source={source} connect={connect} />}
          </>
        ) : (
          <LoadingNote />
        )}
        <TestResult status={status} />
        {connect.needsConfirmation.value && (
          <div class="connect-ask" role="alert">
            <p>{t('setup.confirm')}</p>
            <Button onClick={event => void start(event, true)}>{t('setup.confirm.yes')}</Button>
          </div>
        )}
        <FormActions>
          <Button
            kind="quiet"
            onClick={() => void app.shell.attempt(() => app.models.onboarding.skip())}
          >
            {t('setup.skip')}
          </Button>
          <Button
            disabled={!connect.ready.value || status?.busy === true}
            onClick={() => void connect.test()}
          >
            {t('setup.test')}
          </Button>
          <Button kind="primary" type="submit" disabled={!connect.ready.value || busy.value}>
            {t(busy.value ? 'setup.starting' : 'setup.start')}
          </Button>
        </FormActions>
      </form>
    </Dialog>
  )
}
