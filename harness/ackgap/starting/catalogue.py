"""What is known of libraries: which engine they are, which fake service fits them, and how they learn its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["AWS_PROFILES", "ENGINES", "HTTP_CLIENTS", "MODELS", "SDKS", "VENDORS", "Sdk", "vendor_of"]

ENGINES: Mapping[str, tuple[str, str]] = {
    "temporalio": ("temporal", "Temporal"),
    "dbos": ("dbos", "DBOS"),
    "celery": ("celery", "Celery"),
    "prefect": ("prefect", "Prefect"),
    "langgraph": ("langgraph", "LangGraph"),
    "pydantic_ai": ("pydantic-ai", "Pydantic AI"),
    "agents": ("openai-agents", "OpenAI Agents SDK"),
    "workflows": ("llamaindex", "LlamaIndex workflows"),
    "llama_index": ("llamaindex", "LlamaIndex"),
}
"""Engine and its title by what is imported; what keeps the work comes first, as agents' libraries run on top of it."""

HTTP_CLIENTS: Mapping[str, str] = {
    "httpx": "httpx",
    "requests": "requests",
    "aiohttp": "aiohttp",
    "urllib.request": "urllib",
    "urllib3": "urllib3",
    "http.client": "http.client",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """An official client of a service, and how it is brought to a fake one.

    Attributes:
        title: What people call it.
        profile: The fake service that fits.
        env: Variables that the package reads by itself; `{url}` is the address of the fake.
        secrets: Variables that it wants to be set, whatever to.
        constructors: Calls that take an address, by the last part of their names.
        attributes: What a program sets to change the address.
        hosts: Whom it calls where it reads no variable: the fake stands for them.
        suffix: What a program has to put behind the address.
    """

    title: str
    profile: str
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    constructors: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    suffix: str = ""


_OPENAI = Sdk(
    title="openai",
    profile="openai",
    env={"OPENAI_BASE_URL": "{url}/v1"},
    secrets={"OPENAI_API_KEY": "unused"},
    constructors=("OpenAI", "AsyncOpenAI", "OpenAIProvider"),
    suffix="/v1",
)
_ANTHROPIC = Sdk(
    title="anthropic",
    profile="anthropic",
    env={"ANTHROPIC_BASE_URL": "{url}"},
    secrets={"ANTHROPIC_API_KEY": "unused"},
    constructors=("Anthropic", "AsyncAnthropic", "AnthropicProvider"),
)
_AWS_SECRETS = {"AWS_ACCESS_KEY_ID": "unused", "AWS_SECRET_ACCESS_KEY": "unused", "AWS_DEFAULT_REGION": "eu-central-1"}

SDKS: Mapping[str, Sdk] = {
    "openai": _OPENAI,
    "agents": Sdk(
        title="openai",
        profile="openai",
        env={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_AGENTS_DISABLE_TRACING": "1"},
        secrets=_OPENAI.secrets,
        suffix="/v1",
    ),
    "langchain_openai": Sdk(
        title="langchain-openai",
        profile="openai",
        env={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_BASE": "{url}/v1"},
        secrets=_OPENAI.secrets,
        constructors=("ChatOpenAI",),
        suffix="/v1",
    ),
    "anthropic": _ANTHROPIC,
    "langchain_anthropic": Sdk(
        title="langchain-anthropic",
        profile="anthropic",
        env={"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_URL": "{url}"},
        secrets=_ANTHROPIC.secrets,
        constructors=("ChatAnthropic",),
    ),
    "stripe": Sdk(
        title="stripe",
        profile="stripe",
        secrets={"STRIPE_API_KEY": "sk_test_unused"},
        attributes=("stripe.api_base",),
        hosts=("api.stripe.com",),
    ),
    "slack_sdk": Sdk(
        title="slack_sdk",
        profile="slack",
        secrets={"SLACK_BOT_TOKEN": "xoxb-unused"},
        constructors=("WebClient", "AsyncWebClient"),
        hosts=("slack.com",),
        suffix="/api/",
    ),
    "resend": Sdk(
        title="resend",
        profile="resend",
        env={"RESEND_API_URL": "{url}"},
        secrets={"RESEND_API_KEY": "unused"},
        attributes=("resend.api_url",),
    ),
    "github": Sdk(
        title="PyGithub",
        profile="github",
        secrets={"GITHUB_TOKEN": "unused"},
        constructors=("Github",),
        hosts=("api.github.com",),
    ),
    "sendgrid": Sdk(
        title="sendgrid",
        profile="mail",
        secrets={"SENDGRID_API_KEY": "unused"},
        constructors=("SendGridAPIClient",),
        hosts=("api.sendgrid.com",),
    ),
    "boto3": Sdk(title="boto3", profile="", secrets=_AWS_SECRETS),
    "aioboto3": Sdk(title="aioboto3", profile="", secrets=_AWS_SECRETS),
}
"""Official clients by what is imported."""

MODELS = frozenset({"openai", "anthropic", "model"})
"""Profiles of language models: they are scripted, and paid, and do nothing."""

AWS_PROFILES: Mapping[str, str] = {"s3": "s3", "sqs": "sqs", "dynamodb": "dynamodb", "ec2": "ec2"}

VENDORS: Mapping[str, str] = {
    "adyen": "adyen",
    "anthropic": "anthropic",
    "claude": "anthropic",
    "dynamodb": "dynamodb",
    "github": "github",
    "googlecalendar": "google-calendar",
    "calendar.google": "google-calendar",
    "jira": "jira",
    "atlassian": "jira",
    "monday": "monday",
    "openai": "openai",
    "paypal": "paypal",
    "resend": "resend",
    "salesforce": "salesforce",
    "sendgrid": "mail",
    "mailgun": "mail",
    "servicenow": "servicenow",
    "shopify": "shopify",
    "slack": "slack",
    "squareup": "square",
    "stripe": "stripe",
    "zendesk": "zendesk",
}
"""Profile by what the name of a variable or of a host says."""


def vendor_of(name: str) -> str:
    """Return the profile of the vendor whose name is in a text, empty where there is none."""
    plain = name.lower().replace("_", "").replace("-", "")
    return next((profile for word, profile in VENDORS.items() if word in plain), "")
