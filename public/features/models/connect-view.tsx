/** The dialog that connects the first model: sources found, sources to add, a test call. */
import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { type Connect, connectOf, type ModelSource } from './connect.ts'
import { providersOf } from './providers.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { TestResult } from './models-view.tsx'

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
      {list.map(source => (
        <Choice key={source.id} source={source} connect={connect} />
      ))}
    </fieldset>
  )

const Fields = ({ source, connect }: { source: ModelSource; connect: Connect }) => {
  const id = useId()
  return (
    <div class="form key-form">
      {source.needsAddress && (
        <>
          <label for={`${id}-url`}>{t('setup.base_url')}</label>
          <input
            id={`${id}-url`}
            class="input"
            type="url"
            autocomplete="off"
            placeholder={t('setup.base_url.hint')}
            value={connect.address.value}
            onInput={event => connect.type('address', event.currentTarget.value)}
          />
        </>
      )}
      {!source.server && (
        <>
          <label for={`${id}-key`}>{t('add.key')}</label>
          <input
            id={`${id}-key`}
            class="input"
            type="password"
            autocomplete="off"
            spellcheck={false}
            aria-describedby={source.hasKey ? `${id}-hint` : undefined}
            value={connect.key.value}
            onInput={event => connect.type('key', event.currentTarget.value)}
          />
          {source.hasKey && (
            <p id={`${id}-hint`} class="field-hint">
              {t('setup.key.there')}
            </p>
          )}
        </>
      )}
      <label for={`${id}-model`}>{t('setup.model')}</label>
      {source.models.length > 0 ? (
        <select
          id={`${id}-model`}
          class="select"
          value={connect.model.value}
          onChange={event => connect.type('model', event.currentTarget.value)}
        >
          {source.models.map(model => (
            <option key={model.id} value={model.id} selected={model.id === connect.model.value}>
              {model.label}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={`${id}-model`}
          class="input"
          autocomplete="off"
          spellcheck={false}
          value={connect.model.value}
          onInput={event => connect.type('model', event.currentTarget.value)}
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
  useEffect(() => void app.attempt(() => connect.load()), [])
  const source = connect.source.value
  const status = providers.tests.value.connect
  const start = async (event: Event, overwrite = false) => {
    event.preventDefault()
    if (busy.value || !connect.ready.value) return
    busy.value = true
    await app.attempt(() => connect.start({ overwrite }))
    busy.value = false
  }
  const close = () => {
    app.onboarding.open.value = false
  }
  return (
    <Dialog title={t('setup.title')} closeLabel={t('setup.close')} onClose={close}>
      <form class="connect" onSubmit={event => void start(event)}>
        <p class="settings-lead">{t('setup.lead')}</p>
        {connect.loaded.value ? (
          <>
            <Sources title={t('setup.found')} list={connect.found.value} connect={connect} />
            <Sources title={t('setup.other')} list={connect.others.value} connect={connect} />
            {source && <Fields key={source.id} source={source} connect={connect} />}
          </>
        ) : (
          <p class="view-note">{t('loading')}</p>
        )}
        <TestResult status={status} />
        {connect.needsConfirmation.value && (
          <div class="connect-ask" role="alert">
            <p>{t('setup.confirm')}</p>
            <Button onClick={event => void start(event, true)}>{t('setup.confirm.yes')}</Button>
          </div>
        )}
        <div class="form-actions">
          <Button kind="quiet" onClick={() => void app.attempt(() => app.onboarding.skip())}>
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
        </div>
      </form>
    </Dialog>
  )
}
