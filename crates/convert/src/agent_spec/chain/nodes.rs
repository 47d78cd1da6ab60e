//! Conversion of each type of Flow node to a node of a chain.

use serde_json::{Map, Value, json};

use super::{
    super::{
        export::TAKES_INPUTS,
        findings::Findings,
        inference::{CAUGHT_EXCEPTION, EXCEPTION_INFO, NEXT},
        types::Call,
    },
    FlowParts, Key, Maker, NeededAgent, PARALLEL,
    request::{as_registered, text_template},
};
use crate::{Format, Result, Source, td::LmosKind};

/// A node, and the question that comes before it where its tool needs to be confirmed.
type Described = (Value, Option<Value>);

impl Maker<'_, '_> {
    pub(super) fn node(&mut self, parts: &FlowParts, node: Key) -> Result<Described> {
        let graph = self.mapper.graph;
        let part = |field: &str| graph.part(node, field);
        let defaults = self.defaults(node);
        let own_outputs = self.outputs(node, node);
        let described = match (graph.type_name(node), part("subflow").or_else(|| part("agent")), part("tool")) {
            ("StartNode", ..) => json!({"answer": {}, "input": defaults, "outputs": own_outputs}),
            ("EndNode", ..) => {
                let branch = graph.text(node, "branch_name").unwrap_or(NEXT);
                let outputs = self.outputs(node, parts.flow);
                json!({"answer": {"branch": branch}, "input": defaults, "outputs": outputs})
            }
            ("BranchingNode", ..) => {
                let by = self.mapper.inference.inputs(node).first().map(|input| input.title.to_string());
                let branches = graph.field(node, "mapping").cloned().unwrap_or_default();
                json!({"answer": {}, "input": defaults, "choose": {"by": by, "branches": branches}})
            }
            ("OutputMessageNode", ..) => {
                let message = self.text(node, "message");
                json!({"answer": {"message": message, "data": {}}, "input": defaults})
            }
            ("InputMessageNode", ..) => {
                let message = self.text(node, "message");
                let message = if message.is_empty() { "The flow waits for your input.".into() } else { message };
                json!({"ask": message, "input": defaults, "outputs": own_outputs})
            }
            ("ApiNode", ..) => self.called(node, node, defaults, own_outputs)?,
            ("ToolNode", _, Some(tool)) => {
                let described = self.called(node, tool, defaults.clone(), own_outputs)?;
                return Ok((described, self.confirmation(tool, defaults)));
            }
            ("AgentNode", Some(agent), _) if !graph.is_a(agent, "Flow") => {
                self.called(node, agent, defaults, own_outputs)?
            }
            ("AgentNode" | "FlowNode", Some(flow), _) => {
                json!({"chain": self.part(flow), "input": defaults, "outputs": own_outputs})
            }
            ("CatchExceptionNode", Some(flow), _) => json!({
                "chain": self.part(flow), "input": defaults, "outputs": own_outputs,
                "otherwise": {
                    "branch": CAUGHT_EXCEPTION, "data": {EXCEPTION_INFO: "{{given.failure}}"},
                },
            }),
            (kind @ ("MapNode" | "ParallelMapNode"), Some(flow), _) => {
                let over = self.iterated(parts, node);
                if over.is_empty() {
                    self.refuse(node, "none of its inputs receives a list to iterate over".into());
                }
                let parallel = if kind == "MapNode" { 1 } else { PARALLEL };
                let reduce = graph.field(node, "reducers").filter(|reducers| reducers.is_object()).cloned();
                json!({
                    "chain": self.part(flow), "input": defaults, "outputs": own_outputs,
                    "each": {"over": over, "parallel": parallel, "reduce": reduce.unwrap_or_else(|| json!({}))},
                })
            }
            ("ParallelFlowNode", ..) => {
                let flows: Vec<Key> = graph.parts(node, "subflows").to_vec();
                let chains: Vec<String> = flows.into_iter().map(|flow| self.part(flow)).collect();
                json!({"chains": chains, "input": defaults, "outputs": own_outputs})
            }
            ("LlmNode", ..) => {
                let (id, action) = self.registered_id(node)?;
                self.need(node, node, Some(&id), None);
                let prompt = self.text(node, "prompt_template");
                with_action(json!({"agent": id, "input": defaults, "request": prompt, "outputs": own_outputs}), action)
            }
            _ => {
                self.refuse(node, "agentdex doesn't support this type of node".into());
                json!({"answer": {}})
            }
        };
        Ok((described, None))
    }

    /// A node that calls what a component is: registered, or as the component says.
    fn called(
        &mut self,
        node: Key,
        component: Key,
        defaults: Map<String, Value>,
        outputs: Map<String, Value>,
    ) -> Result<Value> {
        let mapper = self.mapper;
        let (id, action) = self.registered_id(component)?;
        let mut described = json!({"input": defaults});
        if !outputs.is_empty() {
            described["outputs"] = outputs.into();
        }
        let is_request = mapper.graph.known(component).is_some_and(|known| known.call == Call::Request);
        let takes_inputs =
            mapper.graph.field(component, "metadata").is_some_and(|data| data.get(TAKES_INPUTS).is_some());
        let is_registered = is_request && action.is_some() && !takes_inputs;
        if is_request {
            // An action takes the inputs of its component, unless it is that of a Thing with another description.
            match is_registered.then(|| self.request(component)).transpose() {
                Ok(Some(request)) => described["request"] = request,
                Ok(None) => {}
                Err(reason) => self.refuse(node, reason),
            }
        } else if mapper.inference.inputs(component).is_empty() {
            // An agent without inputs gets the input of the Flow.
            described["request"] = "{{input}}".into();
        }
        if mapper.is_reached(component) {
            let source = Source { format: Format::AgentSpec, media_type: String::new(), bytes: Vec::new() };
            let thing = mapper.describe(component, LmosKind::Tool, source, &mut Findings::default())?;
            described["thing"] = thing.description.value().clone();
            if is_registered {
                as_registered(&mut described["thing"]);
            }
            described["agent"] = id.into();
            return Ok(with_action(described, action));
        }
        let name = mapper.graph.text(component, "name").unwrap_or_default().to_owned();
        // A tool that its runtime supplies is any that can do the same.
        if mapper.graph.is_a(component, "Tool") && action.is_none() {
            self.need(node, component, None, Some(&name));
            described["capability"] = name.into();
            return Ok(described);
        }
        self.need(node, component, Some(&id), None);
        described["agent"] = id.into();
        Ok(with_action(described, action))
    }

    /// The id that a component is registered under. Composed searches make components of single actions, whose ids
    /// name the Thing and the action.
    fn registered_id(&self, component: Key) -> Result<(String, Option<String>)> {
        let own = self.mapper.graph.id(component).and_then(|id| id.split_once('#'));
        match own {
            Some((thing, action)) if thing.contains(':') && !action.is_empty() => {
                Ok((thing.to_owned(), Some(action.to_owned())))
            }
            _ => Ok((self.mapper.thing_id(component)?, None)),
        }
    }

    fn need(&mut self, node: Key, component: Key, id: Option<&str>, capability: Option<&str>) {
        let graph = self.mapper.graph;
        self.needed.push(NeededAgent {
            node: graph.text(node, "name").unwrap_or_default().to_owned(),
            component_type: graph.type_name(component).to_owned(),
            id: id.map(str::to_owned),
            capability: capability.map(str::to_owned),
        });
    }

    /// Returns the node that asks the user before a tool is called; none unless the tool requires confirmation.
    fn confirmation(&self, tool: Key, defaults: Map<String, Value>) -> Option<Value> {
        let graph = self.mapper.graph;
        graph.field(tool, "requires_confirmation").filter(|flag| **flag == json!(true))?;
        let name = graph.text(tool, "name").unwrap_or_default();
        Some(json!({
            "ask": format!("Call the tool {name:?}? (yes or no)"), "input": defaults,
            "outputs": {"answer": {}}, "choose": {"by": "answer", "branches": {"yes": "yes", "y": "yes", "Yes": "yes"}},
        }))
    }

    /// A text with placeholders.
    fn text(&mut self, node: Key, field: &str) -> String {
        let text = self.mapper.graph.text(node, field).unwrap_or_default().to_owned();
        text_template(&text).unwrap_or_else(|reason| {
            self.refuse(node, reason);
            text
        })
    }
}

fn with_action(mut node: Value, action: Option<String>) -> Value {
    if let Some(action) = action {
        node["action"] = action.into();
    }
    node
}
