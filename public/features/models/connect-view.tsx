/** The dialog that connects a model, in two screens: where models run, then what that place needs, with a test call. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, TextField } from '../../parts/form.tsx'
import { type Connect, connectOf, type ModelSource } from './connect.ts'
import { providersOf } from './providers.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { ModelPick } from './model-list.tsx'
import { TestResult } from './models-view.tsx'
import { LoadingNote } from '../../parts/view-state.tsx'

type SourcesProps = { title: string; list: readonly ModelSource[]; connect: Connect }

const Sources = ({ title, list, connect }: SourcesProps) =>
  list.length === 0 ? null : (
    <section aria-label={title}>
      <h3 class="sources-head">{title}</h3>
      <ul class="sources">
        {list.map(source => (
          <li key={source.id}>
            <button type="button" class="source" onClick={() => connect.choose(source.id)}>
              <span class="key-name">{source.name}</span>
              <span class="field-hint">{source.text}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )

/** The first screen: what was found here, then what takes a key. */
const Choice = ({ connect }: { connect: Connect }) => {
  const app = useApp()
  const more = connect.more.value
  const isAll = useSignal(false)
  const hasServer = connect.found.value.some(({ server }) => server)
  return (
    <>
      <div class="connect-body">
        <p class="view-lead">{t('setup.lead')}</p>
        <Sources title={t('setup.found')} list={connect.found.value} connect={connect} />
        <Sources
          title={t('setup.popular')}
          list={isAll.value ? [...connect.popular.value, ...more] : connect.popular.value}
          connect={connect}
        />
        {more.length > 0 && !isAll.value && (
          <Button
            kind="quiet"
            onClick={() => {
              isAll.value = true
            }}
          >
            {t('setup.more', { count: more.length })}
          </Button>
        )}
        {!hasServer && <p class="field-hint">{t('setup.local.none')}</p>}
      </div>
      <div class="connect-foot">
        {!hasServer && (
          <Button icon="refresh" onClick={() => void app.shell.attempt(() => connect.load())}>
            {t('setup.local.scan')}
          </Button>
        )}
        <Button
          kind="quiet"
          onClick={() => void app.shell.attempt(() => app.models.onboarding.skip())}
        >
          {t('setup.skip')}
        </Button>
      </div>
    </>
  )
}

type FieldsProps = { source: ModelSource; connect: Connect }

/** What is missing has the cursor. */
const Fields = ({ source, connect }: FieldsProps) => {
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const models = connect.offered.value
  const list = () => void connect.listModels()
  const hint = source.hasKey
    ? t('setup.key.there')
    : source.keyPage && (
        <a href={source.keyPage} target="_blank" rel="noopener noreferrer">
          {t('setup.key.page', { name: source.name })}
        </a>
      )
  return (
    <>
      {source.needsAddress && (
        <TextField
          label={t('setup.base_url')}
          type="url"
          dir="ltr"
          inputRef={first}
          placeholder={t('setup.base_url.hint')}
          value={connect.typed.address.value}
          onInput={text => connect.type('address', text)}
          onChange={list}
        />
      )}
      {!source.server && (
        <TextField
          label={t('add.key')}
          hint={source.needsAddress ? t('setup.key.maybe') : hint}
          type="password"
          {...(!source.needsAddress && { inputRef: first })}
          value={connect.typed.key.value}
          onInput={text => connect.type('key', text)}
          onChange={list}
        />
      )}
      <Field
        label={t('setup.model')}
        control={({ id, describedBy }) => (
          <ModelPick
            id={id}
            describedBy={describedBy}
            label={t('setup.model')}
            offered={models}
            selected={connect.typed.model.value}
            onPick={model => connect.type('model', model)}
          />
        )}
      />
    </>
  )
}

/** Beside the buttons: the result of the test, what is going on, or what is missing. */
const Said = ({ connect }: { connect: Connect }) => {
  const status = providersOf(useApp()).tests.value.connect
  const missing = connect.missing.value
  if (status) return <TestResult status={status} />
  return (
    <p class="verdict" role="status">
      {connect.isListing.value ? t('setup.listing') : missing && t(`setup.missing.${missing}`)}
    </p>
  )
}

/** The second screen. */
const Details = ({ source, connect }: FieldsProps) => {
  const status = providersOf(useApp()).tests.value.connect
  const busy = useSignal(false)
  const isAsking = connect.needsConfirmation.value
  const start = async (event: Event) => {
    event.preventDefault()
    if (busy.value || !connect.ready.value) return
    busy.value = true
    await connect.start({ overwrite: isAsking })
    busy.value = false
  }
  return (
    <form class="connect" onSubmit={event => void start(event)}>
      <div class="connect-body">
        <div class="connect-chosen">
          <span class="field-text">
            <span class="key-name">{source.name}</span>
            <span class="field-hint">{source.text}</span>
          </span>
          <Button kind="quiet" onClick={() => connect.choose('')}>
            {t('setup.change')}
          </Button>
        </div>
        <Fields source={source} connect={connect} />
      </div>
      <div class="connect-foot">
        {isAsking ? (
          <p class="verdict" role="alert">
            {t('setup.confirm')}
          </p>
        ) : (
          <Said connect={connect} />
        )}
        <Button
          disabled={!connect.ready.value || status?.busy === true}
          onClick={() => void connect.test()}
        >
          {t('setup.test')}
        </Button>
        <Button kind="primary" type="submit" disabled={!connect.ready.value || busy.value}>
          {t(busy.value ? 'setup.starting' : isAsking ? 'setup.confirm.yes' : 'setup.start')}
        </Button>
      </div>
    </form>
  )
}

export const ConnectDialog = () => {
  const app = useApp()
  const connect = connectOf(app)
  useEffect(() => {
    void app.shell.attempt(() => connect.load())
    // What was typed is not there the next time.
    return () => connect.choose('')
  }, [])
  const source = connect.source.value
  const close = () => {
    app.models.onboarding.open.value = false
  }
  return (
    <Dialog title={t('setup.title')} closeLabel={t('app.close')} onClose={close}>
      {source ? (
        <Details key={source.id} source={source} connect={connect} />
      ) : connect.isLoaded.value ? (
        <Choice connect={connect} />
      ) : (
        <LoadingNote />
      )}
    </Dialog>
  )
}
