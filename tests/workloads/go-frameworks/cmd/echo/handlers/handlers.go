// SPDX-License-Identifier: Apache-2.0

// Package handlers has the endpoints of the shop.
package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/store"
)

// Orders are the endpoints below /orders.
type Orders struct {
	all      *store.Table[store.Order]
	invoices *store.Table[string]
}

// NewOrders keeps so many of both.
func NewOrders(orders, invoices int) *Orders {
	return &Orders{store.NewTable[store.Order](orders), store.NewTable[string](invoices)}
}

// Create stores an order.
func (o *Orders) Create(c echo.Context) error {
	var order store.Order
	if err := c.Bind(&order); err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, map[string]string{"id": o.all.Put(order)})
}

// Invoice writes the bill of an order.
func (o *Orders) Invoice(c echo.Context) error {
	order := &store.Order{}
	if err := c.Bind(order); err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, err.Error())
	}
	text := report.Invoice(order)
	o.invoices.Put(text)
	return c.String(http.StatusOK, text)
}

// Content is what is neither bought nor sold.
type Content struct {
	reviews *search.Index
	reports *report.Reports
}

// NewContent keeps so many of both.
func NewContent(reviews, reports int) Content {
	return Content{search.New(reviews), report.New(store.NewCache(reports))}
}

// Review takes a text in.
func (x Content) Review(c echo.Context) error {
	review := store.Review{}
	if err := c.Bind(&review); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, x.reviews.Add(review.Text))
}

// Report is the sales of a month.
func (x Content) Report(c echo.Context) error {
	return c.Blob(http.StatusOK, "text/csv", x.reports.Sales(c.Param("month")))
}

// Accounts are the endpoints of users.
type Accounts struct{ sessions *store.Sessions }

// NewAccounts keeps so many sessions.
func NewAccounts(keep int) *Accounts { return &Accounts{store.NewSessions(keep)} }

// Login opens a session.
func (a *Accounts) Login(c echo.Context) error {
	login := store.Login{}
	if err := c.Bind(&login); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"token": a.sessions.Open(login.User)})
}

type notification struct {
	to     string
	events []store.Event
}

// Notify is an endpoint that queues mail.
func Notify(keep int) echo.HandlerFunc {
	queue := store.NewQueue(keep, func(n *notification) { _ = len(n.events) })
	return func(c echo.Context) error {
		n := &notification{to: c.RealIP()}
		if err := c.Bind(&n.events); err != nil {
			return err
		}
		queue.Push(n)
		return c.NoContent(http.StatusAccepted)
	}
}
